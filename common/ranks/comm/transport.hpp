#pragma once
/// @file
/// Messages between any two ranks of a group, over any medium.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "net/frame.hpp"

namespace lockstep::comm {

/// A connection between two ranks broke. Neither of them can tell whose fault it is, so the message names both.
class LinkError : public IoError {
 public:
  using IoError::IoError;
};

/// How much a rank has sent.
struct Traffic {
  std::uint64_t payload_bytes = 0;  ///< Elements of collectives.
  std::uint64_t header_bytes = 0;   ///< Overhead of messages.
  std::uint64_t messages = 0;
};

/// Messages between the ranks of one group.
///
/// A message has a header, which identifies its collective, and a payload, whose size both ends know from their own
/// call. Messages of a pair of ranks keep their order. A send does not wait for the peer: data that the peer has not
/// taken yet is queued, and moves whenever this rank waits for anything. So a ring in which all ranks send before they
/// receive does not block, however long the messages are.
///
/// A deadline is for the whole call: a peer that sends or takes only a little at a time does not extend it. It is
/// checked when a call waits and after each piece of a message but the last, so a message that is already there when
/// the deadline passes may still be received.
///
/// Thread safety: one thread at a time; interrupt() from any.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// "tcp", "shared memory".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Queues a message and sends what can be sent at once.
  ///
  /// @param peer    A rank of the group, not this one.
  /// @param header  Of the collective.
  /// @param bytes   May be empty; must not change until flush() returns or the peer is known to have received them.
  /// @throws LinkError, TimeoutError  The connection broke, or a new one cannot be made by `deadline`.
  virtual void send(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes,
                    const Deadline& deadline) = 0;

  /// Waits for the next message from `peer`; meanwhile queued messages are sent.
  ///
  /// @param expected  Header that the message must match: collective, call number and fingerprint.
  /// @param bytes     Filled; its size is the expected payload size.
  /// @throws MismatchError  The message belongs to another collective; says what each of the two ranks was doing.
  /// @throws LinkError, TimeoutError, FormatError  The connection broke, the message is too late, or it is damaged.
  virtual void receive(int peer, const net::FrameHeader& expected, std::span<std::byte> bytes,
                       const Deadline& deadline) = 0;

  /// Waits until at most `most_queued` messages are queued. Does not receive: messages that arrive meanwhile stay in
  /// the connection. So if all ranks of a ring flush messages that their neighbour has not asked for yet, none returns.
  /// @throws LinkError, TimeoutError
  virtual void flush(const Deadline& deadline, std::size_t most_queued = 0) = 0;

  /// Makes a running call, and all later ones, fail soon with IoError.
  virtual void interrupt() noexcept = 0;

  /// Counted since the transport was made. May be called from any thread.
  [[nodiscard]] virtual Traffic sent() const noexcept = 0;
};

/// The check that every transport applies to a received message.
/// @param own_name   "rank 0".
/// @param peer_name  The sender's.
/// @throws MismatchError  `received` belongs to a different collective than `expected`.
void check_same_collective(const net::FrameHeader& expected, std::string_view own_name,
                           const net::FrameHeader& received, std::string_view peer_name);

}  // namespace lockstep::comm
