#pragma once
/// @file
/// Sending and receiving at the same time.
#include <cstddef>
#include <functional>
#include <span>

#include "base/deadline.hpp"
#include "net/frame.hpp"
#include "net/tcp_socket.hpp"

namespace lockstep::net {

/// Sends `header` and `payload` to one peer while filling `received` from another (or the same).
///
/// In a ring every rank sends to its right and receives from its left. If all sent first and received after, a message
/// larger than the kernel's buffers would block every rank for ever; here both directions make progress together.
/// @throws IoError, TimeoutError  As TcpSocket, with both amounts.
void exchange(TcpSocket& to, std::span<const std::byte> header, std::span<const std::byte> payload, TcpSocket& from,
              std::span<std::byte> received, const Deadline& deadline);

/// What accept_header of exchange_frames checks beyond the frame itself, for example that both ranks are in the same
/// collective. Throws to refuse.
using HeaderCheck = std::function<void(const FrameHeader&)>;

/// Sends one frame while receiving one. The received payload must have exactly received.size() bytes.
/// @param check_header  Called with the received header before its payload is read; may be empty.
/// @return  The received header.
/// @throws FormatError, IoError, TimeoutError, and whatever `check_header` throws.
FrameHeader exchange_frames(TcpSocket& to, const FrameHeader& header, std::span<const std::byte> payload,
                            TcpSocket& from, const FrameLimits& limits, std::span<std::byte> received,
                            const Deadline& deadline, const HeaderCheck& check_header = {});

}  // namespace lockstep::net
