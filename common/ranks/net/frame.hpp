#pragma once
/// @file
/// The unit of every message after the handshake: a header of 64 bytes, then a payload. docs/wire_format.md is the
/// page about it; this header and frame.cpp are the code.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::net {

/// What a frame carries. Values appear on the wire; never renumber.
enum class FrameType : std::uint16_t { kCollective = 1, kStoreRequest = 2, kStoreReply = 3, kControl = 4, kAgent = 5 };

/// Sixteen bytes that the frame's user defines: a collective's fingerprint, zero elsewhere.
using FrameTag = std::array<std::byte, 16>;

/// The header as its user sees it; magic, version and the header's own checksum are added and checked below.
struct FrameHeader {
  FrameType type = FrameType::kCollective;  ///< What the payload is.
  std::uint32_t generation = 0;             ///< Restart count of the job; a stale rank's frames are refused.
  std::int32_t source_rank = -1;            ///< Sender, for messages.
  std::uint64_t sequence = 0;               ///< Sender's choice: the collective's number, the request's number.
  std::uint64_t payload_bytes = 0;          ///< Set by seal().
  FrameTag tag{};                           ///< The user's own.
  std::uint64_t payload_checksum = 0;       ///< Set by seal(): XXH3-64 of the payload; 0 if there is a MAC.
};

/// Size of every header.
constexpr std::size_t kFrameHeaderBytes = 64;
/// A header as it stands on the wire.
using EncodedHeader = std::array<std::byte, kFrameHeaderBytes>;

/// What a receiver accepts.
struct FrameLimits {
  std::uint64_t max_payload_bytes = 0;  ///< A longer frame is refused before anything is allocated.
  std::uint32_t generation = 0;         ///< The only one accepted.
};

/// A header with its payload.
struct Frame {
  FrameHeader header;              ///< As checked.
  std::vector<std::byte> payload;  ///< May be empty.
};

/// XXH3-64.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

/// Fills in the payload's length and writes the header as bytes: with the checksums of payload and header, or with the
/// tag of both in their place.
/// @param mac  The connection's; null: checksums. Its frames must be sent in the order in which they were sealed.
/// @cost  One pass over the payload.
[[nodiscard]] EncodedHeader seal(const FrameHeader& header, std::span<const std::byte> payload,
                                 FrameMac* mac = nullptr);

/// Reads a header that arrived from `peer`. Where frames have a MAC, it is checked with the payload: until then the
/// header is what somebody says.
/// @throws FormatError  No frame of this project (shows the first bytes), another version, a damaged header, another
///                      generation or too long a payload; each says which, and names the peer.
[[nodiscard]] FrameHeader open_header(std::span<const std::byte, kFrameHeaderBytes> bytes, const FrameLimits& limits,
                                      const std::string& peer, const FrameMac* mac = nullptr);

/// Once for every frame, in the order of arrival.
/// @throws FormatError  `header` was not made for this payload, or (with a MAC) not by the peer as its next frame.
void check_payload(std::span<const std::byte, kFrameHeaderBytes> header, std::span<const std::byte> payload,
                   const std::string& peer, FrameMac* mac = nullptr);

/// Sends header and payload with one system call where the kernel takes both.
/// @throws IoError, TimeoutError  As StreamSocket::send_all.
void send_frame(StreamSocket& socket, const FrameHeader& header, std::span<const std::byte> payload,
                const Deadline& deadline);

/// Receives a whole frame into memory of its own.
/// @throws FormatError, IoError, TimeoutError
[[nodiscard]] Frame receive_frame(StreamSocket& socket, const FrameLimits& limits, const Deadline& deadline);

}  // namespace lockstep::net
