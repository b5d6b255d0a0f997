#include "01_mini_all_reduce/1_framing/framing.hpp"

#include <array>

namespace lockstep::framing {

void send_all(Link& link, std::span<const std::byte> bytes) {
  // SOLUTION(01.1) send_all: call send_some() until nothing is left to send
  while (!bytes.empty()) bytes = bytes.subspan(link.send_some(bytes));
  // END SOLUTION
}

std::size_t receive_all(Link& link, std::span<std::byte> bytes) {
  // SOLUTION(01.1) receive_all: call receive_some() until `bytes` is full or the stream has ended
  std::size_t arrived = 0;
  while (arrived < bytes.size()) {
    const std::size_t count = link.receive_some(bytes.subspan(arrived));
    if (count == 0) break;
    arrived += count;
  }
  return arrived;
  // END SOLUTION
}

void send_frame(Link& link, std::span<const std::byte> payload) {
  // SOLUTION(01.1) send_frame: write the length in four bytes, then send these and the payload
  const auto count = static_cast<std::uint32_t>(payload.size());
  const std::array<std::byte, kLengthBytes> length = {std::byte(count >> 24), std::byte(count >> 16),
                                                      std::byte(count >> 8), std::byte(count)};
  send_all(link, length);
  send_all(link, payload);
  // END SOLUTION
}

std::optional<std::vector<std::byte>> receive_frame(Link& link) {
  // SOLUTION(01.1) receive_frame: receive the length, check it, then receive as many bytes
  std::array<std::byte, kLengthBytes> length{};
  const std::size_t arrived = receive_all(link, length);
  if (arrived == 0) return std::nullopt;
  if (arrived < kLengthBytes) throw IoError(concat("the stream ended after ", arrived, " bytes of a length"));

  std::size_t count = 0;
  for (const std::byte digit : length) count = count << 8 | std::to_integer<std::size_t>(digit);
  if (count > kLargestPayload) throw FormatError(concat("a payload of ", count, " bytes is not one of ours"));

  std::vector<std::byte> payload(count);
  if (const std::size_t got = receive_all(link, payload); got < count)
    throw IoError(concat("the stream ended after ", got, " of ", count, " payload bytes"));
  return payload;
  // END SOLUTION
}

}  // namespace lockstep::framing
