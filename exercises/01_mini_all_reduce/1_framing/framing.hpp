#pragma once
/// @file
/// Given: the frames of exercise 01.1. A frame is a message with its length in front:
///
///     byte  0 1 2 3    4 ...
///           length     payload
///
/// The length is the number of payload bytes as an unsigned 32-bit number, most significant byte first (big-endian,
/// also called network byte order). It does not count its own four bytes. A payload of "hi" travels as 00 00 00 02
/// 68 69. The project's own frames (common/ranks/net/frame.hpp) have a longer header.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "exercise/link.hpp"
#include "exercise/todo.hpp"

namespace lockstep::framing {

using exercise::Link;

inline constexpr std::size_t kLengthBytes = 4;                         ///< In front of each payload.
inline constexpr std::size_t kLargestPayload = std::size_t{16} << 20;  ///< 16 MiB. Larger lengths are refused.

/// Sends one frame. Returns when the kernel has taken all of it.
///
/// @param link     Use its send_some(), which may take fewer bytes than it is given.
/// @param payload  At most kLargestPayload bytes; may be empty.
/// @throws IoError  The peer has closed (send_some() throws this).
void send_frame(Link& link, std::span<const std::byte> payload);

/// Receives one frame, and not a byte of the next one.
///
/// @param link  Use its receive_some(), which may return fewer bytes than it is asked for, and 0 once the peer has
/// closed.
/// @return  The payload, which may be empty; std::nullopt if the peer has closed at the point where a frame would have
/// begun.
/// @throws IoError      The peer has closed in the middle of a frame: in its length or in its payload.
/// @throws FormatError  The length is larger than kLargestPayload. No memory is allocated for such a payload.
[[nodiscard]] std::optional<std::vector<std::byte>> receive_frame(Link& link);

// Two loops that the functions above are made of. They are yours to write, too.

/// Sends all of `bytes`, in as many calls of send_some() as it takes. @throws IoError  The peer has closed.
void send_all(Link& link, std::span<const std::byte> bytes);

/// Fills `bytes`, in as many calls of receive_some() as it takes.
/// @return  How many bytes have arrived: fewer than asked for only if the peer has closed.
[[nodiscard]] std::size_t receive_all(Link& link, std::span<std::byte> bytes);

}  // namespace lockstep::framing
