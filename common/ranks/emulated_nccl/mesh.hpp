#pragma once
/// @file
/// Messages between the ranks of a communicator: one connection per pair, and all messages of a call move at once.
#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::emulated_nccl {

/// Bytes for, or from, another rank.
struct Message {
  int peer = 0;                ///< May be this rank itself.
  std::span<std::byte> bytes;  ///< May be empty.
};

/// Unlike comm::Transport it receives from all peers at the same time, as NCCL's kernels do: no order of sends and
/// receives in one exchange can deadlock. It only checks sizes.
///
/// Thread safety: one exchange at a time; interrupt() from any thread.
class Mesh {
 public:
  /// @param sockets  One for every rank, by rank; this rank's own is not open.
  Mesh(int rank, std::vector<net::StreamSocket> sockets);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(sockets_.size()); }

  /// Sends and receives everything. Messages between two ranks keep their order.
  /// @throws IoError      A peer is gone, or interrupt() was called.
  /// @throws FormatError  A message's size differs from the expected one.
  void exchange(std::span<const Message> sends, std::span<const Message> receives);

  /// Makes running and later exchanges fail.
  void interrupt() noexcept;
  /// Whether interrupt() was called.
  [[nodiscard]] bool is_interrupted() const noexcept { return is_interrupted_; }

 private:
  using Header = std::array<std::byte, sizeof(std::uint64_t)>;  // the payload's size
  struct Moving {
    Header header{};
    std::span<std::byte> payload;
    std::size_t moved = 0;  // of header and payload together
    [[nodiscard]] std::size_t left() const noexcept { return header.size() + payload.size() - moved; }
  };
  // Messages not yet moved to and from one rank.
  struct Link {
    std::deque<Moving> outgoing;
    std::deque<Moving> incoming;
  };

  void queue(std::span<const Message> sends, std::span<const Message> receives);
  void copy_own();
  bool send_some(int peer);     // whether anything moved
  bool receive_some(int peer);  // likewise
  void check_size(int peer, const Moving& message) const;
  [[nodiscard]] bool is_done() const noexcept;
  void sleep_until_ready();

  int rank_;
  std::vector<net::StreamSocket> sockets_;
  std::vector<Link> links_;
  std::vector<pollfd> poll_entries_;
  UniqueFd wake_up_;
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace lockstep::emulated_nccl
