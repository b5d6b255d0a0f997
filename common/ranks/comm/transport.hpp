#pragma once
/// @file
/// How the ranks of a group reach each other: messages between any two of them, whatever those travel through.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "net/frame.hpp"

namespace lockstep::comm {

/// A connection between two ranks broke. Which of the two, or what is between them, is to blame neither can tell: the
/// message names both.
class LinkError : public IoError {
 public:
  using IoError::IoError;
};

/// What a rank has sent.
struct Traffic {
  std::uint64_t payload_bytes = 0;  ///< Elements of collectives.
  std::uint64_t header_bytes = 0;   ///< What messages add to them.
  std::uint64_t messages = 0;       ///< However long.
};

/// Messages between the ranks of one group.
///
/// A message has a header, which says which collective it belongs to, and a payload, whose size both ends know from
/// their own call. Messages of a pair of ranks keep their order. A rank sends without waiting for its peer: what the
/// peer has not taken yet is queued, and moves on whenever this rank waits for anything. So a ring in which everybody
/// sends before receiving does not block, however long the messages are.
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
  /// @param bytes   May be empty; stay as they are until flush() returns or the peer is known to have received them.
  /// @throws LinkError, TimeoutError  The connection broke, or (where there is none yet) cannot be made by `deadline`.
  virtual void send(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes,
                    const Deadline& deadline) = 0;

  /// Waits for the next message of `peer`; meanwhile queued messages move on.
  ///
  /// @param expected  What the message's header must say: the same collective, call number and fingerprint.
  /// @param bytes     Filled; its size is the payload's.
  /// @throws MismatchError  The message belongs to another collective; says what each of the two ranks was doing.
  /// @throws LinkError, TimeoutError, FormatError  Broken, too late, damaged.
  virtual void receive(int peer, const net::FrameHeader& expected, std::span<std::byte> bytes,
                       const Deadline& deadline) = 0;

  /// Waits until at most `most_queued` messages are queued. Messages that arrive meanwhile are left where they are: if
  /// all ranks of a ring waited like this for messages that their neighbour has not asked for, none would ever end.
  /// @throws LinkError, TimeoutError
  virtual void flush(const Deadline& deadline, std::size_t most_queued = 0) = 0;

  /// Makes a running call, and all later ones, fail soon with IoError.
  virtual void interrupt() noexcept = 0;

  /// Counted since the transport was made. Any thread.
  [[nodiscard]] virtual Traffic sent() const noexcept = 0;
};

/// What every transport checks of a message that has arrived.
/// @param own_name   Name of this rank, "rank 0".
/// @param peer_name  Name of the sender.
/// @throws MismatchError  `received` is not of the collective that `expected` is of.
void check_same_collective(const net::FrameHeader& expected, std::string_view own_name,
                           const net::FrameHeader& received, std::string_view peer_name);

}  // namespace lockstep::comm
