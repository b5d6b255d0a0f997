#pragma once
/// @file
/// One test body for every transport.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/fingerprint.hpp"
#include "comm/transport.hpp"

namespace lockstep::test {

inline const std::vector<std::size_t> kSizes{0, 1, 63, 64, 65, 1000, 300000, 1, 0, 1000003, 7};

inline std::vector<std::byte> message(int from, int to, std::size_t index, std::size_t bytes) {
  std::vector<std::byte> content(bytes);
  const std::size_t seed = 131 * static_cast<std::size_t>(from) + 17 * static_cast<std::size_t>(to) + 5 * index;
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>((seed + i * 7 + i / 256) % 253);
  return content;
}

inline net::FrameHeader header_of(std::uint64_t sequence) {
  return {.sequence = sequence, .tag = comm::to_tag({.sequence = sequence})};
}

// Every rank sends every other one all sizes, and receives theirs; what is wrong, or "".
inline std::string exchange_all(comm::Transport& transport, int rank, int world_size) {
  std::vector<std::vector<std::byte>> outgoing;
  for (int peer = 0; peer < world_size; ++peer) {
    for (std::size_t i = 0; peer != rank && i < kSizes.size(); ++i) {
      outgoing.push_back(message(rank, peer, i, kSizes[i]));
      transport.send(peer, header_of(i), outgoing.back(), Deadline::after(std::chrono::seconds(20)));
    }
  }
  for (int peer = 0; peer < world_size; ++peer) {
    for (std::size_t i = 0; peer != rank && i < kSizes.size(); ++i) {
      std::vector<std::byte> content(kSizes[i]);
      transport.receive(peer, header_of(i), content, Deadline::after(std::chrono::seconds(20)));
      if (content != message(peer, rank, i, kSizes[i])) {
        return concat("rank ", rank, ": message ", i, " of rank ", peer);
      }
    }
  }
  transport.flush(Deadline::after(std::chrono::seconds(20)));
  return "";
}

}  // namespace lockstep::test
