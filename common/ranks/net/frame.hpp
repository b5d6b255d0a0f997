#pragma once
/// @file
/// The unit of every message after the handshake: a header of 64 bytes, then a payload. docs/wire_format.md describes
/// the format; this header and frame.cpp implement it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::net {

/// The kind of a frame's payload. Values appear on the wire; never renumber.
enum class FrameType : std::uint16_t { kCollective = 1, kStoreRequest = 2, kStoreReply = 3, kControl = 4, kAgent = 5 };

/// Sixteen bytes for the frame's user: a collective's fingerprint, zero in other frames.
using FrameTag = std::array<std::byte, 16>;

/// The header's fields; seal() adds magic, version and the header's own checksum, and open_header() checks them.
struct FrameHeader {
  FrameType type = FrameType::kCollective;
  std::uint32_t generation = 0;     ///< Restart count of the job; frames of other generations are refused.
  std::int32_t source_rank = -1;    ///< For messages.
  std::uint64_t sequence = 0;       ///< Chosen by the sender: the number of the collective or request.
  std::uint64_t payload_bytes = 0;  ///< Set by seal().
  FrameTag tag{};
  std::uint64_t payload_checksum = 0;  ///< Set by seal(): XXH3-64 of the payload; 0 if there is a MAC.
};

constexpr std::size_t kFrameHeaderBytes = 64;
/// A header as on the wire.
using EncodedHeader = std::array<std::byte, kFrameHeaderBytes>;

/// A receiver's limits.
struct FrameLimits {
  std::uint64_t max_payload_bytes = 0;  ///< A longer frame is refused before memory is allocated.
  std::uint32_t generation = 0;         ///< The only one accepted.
};

/// A header with its payload.
struct Frame {
  FrameHeader header;              ///< Checked.
  std::vector<std::byte> payload;  ///< May be empty.
};

/// XXH3-64.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

/// Fills in the payload's length and encodes the header: with checksums of payload and header, or a tag for both.
/// @param mac  The connection's; null: checksums. Frames must be sent in the order in which they were sealed.
/// @cost  One pass over the payload.
[[nodiscard]] EncodedHeader seal(const FrameHeader& header, std::span<const std::byte> payload,
                                 FrameMac* mac = nullptr);

/// Decodes a header that arrived from `peer`. With a MAC, the header is not authenticated until check_payload().
/// @throws FormatError  Not a frame of this project (shows the first bytes), another version, a damaged header, another
///         generation or too long a payload; says which, and names the peer.
[[nodiscard]] FrameHeader open_header(std::span<const std::byte, kFrameHeaderBytes> bytes, const FrameLimits& limits,
                                      const std::string& peer, const FrameMac* mac = nullptr);

/// Checks a payload against its header. Call once for every frame, in the order of arrival.
/// @throws FormatError  `header` does not belong to this payload or, with a MAC, is not the peer's next frame.
void check_payload(std::span<const std::byte, kFrameHeaderBytes> header, std::span<const std::byte> payload,
                   const std::string& peer, FrameMac* mac = nullptr);

/// Sends header and payload, with one system call if the kernel accepts both.
/// @throws IoError, TimeoutError  See StreamSocket::send_all().
void send_frame(StreamSocket& socket, const FrameHeader& header, std::span<const std::byte> payload,
                const Deadline& deadline);

/// Receives a whole frame into newly allocated memory.
/// @throws FormatError, IoError, TimeoutError
[[nodiscard]] Frame receive_frame(StreamSocket& socket, const FrameLimits& limits, const Deadline& deadline);

}  // namespace lockstep::net
