#pragma once
/// @file
/// The connections between ranks in exercises.
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "base/unique_fd.hpp"
#include "exercise/progress_board.hpp"

namespace lockstep::exercise {

/// How a connection behaves in a trial: as the kernel may at any time, but on purpose.
struct LinkOptions {
  /// The most bytes moved by one system call; 0: no limit.
  std::size_t most_at_once = 0;
};

/// A connected stream of bytes to one other rank, with blocking calls, like TCP.
///
/// Bytes arrive in order; boundaries between calls are not preserved. Move-only; one thread.
class Link {
 public:
  /// Takes ownership of a connected descriptor. @param peer  The rank at the other end. @param progress  May be null.
  Link(UniqueFd fd, int peer, RankProgress* progress, const LinkOptions& options = {});
  Link(Link&&) noexcept = default;
  Link& operator=(Link&&) noexcept = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() = default;

  /// The rank at the other end.
  [[nodiscard]] int peer() const noexcept { return peer_; }

  /// Returns when the kernel has taken all bytes: at once for a few; for many, only while the peer receives.
  /// @throws IoError  The peer has closed.
  void send(std::span<const std::byte> bytes, const std::source_location& where = std::source_location::current());
  /// Returns when all of `bytes` has arrived. @throws IoError  The peer has closed before that.
  void receive(std::span<std::byte> bytes, const std::source_location& where = std::source_location::current());

  /// Like ::send(2): accepts as many of `bytes` as there is room for, at least one, and returns how many.
  /// @throws IoError  The peer has closed.
  std::size_t send_some(std::span<const std::byte> bytes,
                        const std::source_location& where = std::source_location::current());
  /// Like ::recv(2): waits for at least one byte, and returns how many have arrived; 0 if the peer has closed.
  std::size_t receive_some(std::span<std::byte> bytes,
                           const std::source_location& where = std::source_location::current());

  /// Like send() above, for floats in this machine's byte order.
  void send(std::span<const float> values, const std::source_location& where = std::source_location::current()) {
    send(std::as_bytes(values), where);
  }
  /// Fills `values`.
  void receive(std::span<float> values, const std::source_location& where = std::source_location::current()) {
    receive(std::as_writable_bytes(values), where);
  }

  /// Stops entering its calls on the board, for interfaces that enter their own.
  void leave_board() noexcept { progress_ = nullptr; }

  void close() noexcept { fd_.reset(); }

 private:
  friend void exchange(Link& to, std::span<const float> outgoing, Link& from, std::span<float> incoming,
                       const std::source_location& where);
  [[nodiscard]] std::size_t send_now(std::span<const std::byte> bytes, int flags);
  [[nodiscard]] std::size_t receive_now(std::span<std::byte> bytes, int flags);

  UniqueFd fd_;
  int peer_;
  RankProgress* progress_;
  LinkOptions options_;
  bool has_ended_ = false;  // receive_some() has returned 0
};

/// Sends on one connection while receiving on another, or on the same; neither direction waits for the other.
/// @throws IoError  A peer has closed.
void exchange(Link& to, std::span<const float> outgoing, Link& from, std::span<float> incoming,
              const std::source_location& where = std::source_location::current());

}  // namespace lockstep::exercise
