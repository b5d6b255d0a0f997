#pragma once
/// @file
/// The connections that an exercise's code is given.
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "base/unique_fd.hpp"
#include "exercise/progress_board.hpp"

namespace lockstep::exercise {

/// How a connection treats its user in a trial: as the kernel may at any time, but on purpose.
struct LinkOptions {
  /// The most bytes that one system call moves; 0: as many as the kernel likes.
  std::size_t most_at_once = 0;
};

/// A connected stream of bytes to one other rank, with blocking calls, as TCP gives it.
///
/// What one end sends, the other receives in order; the borders between calls are not kept. Move-only; one thread.
class Link {
 public:
  /// Takes over a connected descriptor. @param peer  The rank at the other end. @param progress  May be null.
  Link(UniqueFd fd, int peer, RankProgress* progress, const LinkOptions& options = {});
  Link(Link&&) noexcept = default;
  Link& operator=(Link&&) noexcept = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() = default;

  /// The rank at the other end.
  [[nodiscard]] int peer() const noexcept { return peer_; }

  /// Returns when the kernel has taken all bytes: at once for a few, only while the peer receives for many.
  /// @throws IoError  The peer has closed.
  void send(std::span<const std::byte> bytes, const std::source_location& where = std::source_location::current());
  /// Returns when all of `bytes` has arrived. @throws IoError  The peer has closed before.
  void receive(std::span<std::byte> bytes, const std::source_location& where = std::source_location::current());

  /// As ::send(2): takes as many of `bytes` as there is room for, at least one, and returns how many.
  /// @throws IoError  The peer has closed.
  std::size_t send_some(std::span<const std::byte> bytes,
                        const std::source_location& where = std::source_location::current());
  /// As ::recv(2): waits for at least one byte, and returns how many have arrived; 0 where the peer has closed.
  std::size_t receive_some(std::span<std::byte> bytes,
                           const std::source_location& where = std::source_location::current());

  /// As send() and receive() above, of floats in the byte order of this machine.
  void send(std::span<const float> values, const std::source_location& where = std::source_location::current()) {
    send(std::as_bytes(values), where);
  }
  /// Fills `values`.
  void receive(std::span<float> values, const std::source_location& where = std::source_location::current()) {
    receive(std::as_writable_bytes(values), where);
  }

  /// From now on its calls are not entered on the board: for interfaces that enter calls of their own.
  void leave_board() noexcept { progress_ = nullptr; }

  /// Ends this end of the connection.
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

/// Sends on one connection while it receives on another (which may be the same): neither waits for the other.
/// @throws IoError  A peer has closed.
void exchange(Link& to, std::span<const float> outgoing, Link& from, std::span<float> incoming,
              const std::source_location& where = std::source_location::current());

}  // namespace lockstep::exercise
