#include "net/frame.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::net {
namespace {

constexpr std::uint32_t kMagic = 0x504B434C;  // "LCKP" in the order of the wire
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kChecksumOffset = kFrameHeaderBytes - sizeof(std::uint64_t);  // the header's own checksum is last
constexpr std::size_t kTagOffset = 48;  // of the MAC, which replaces both checksums

template <std::integral T>
void put_at(EncodedHeader& bytes, std::size_t offset, T value) noexcept {
  auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) bytes[offset + i] = static_cast<std::byte>(bits & 0xFF);
}

FrameHeader decode(std::span<const std::byte> bytes) {
  ByteReader reader(bytes.subspan(6));  // after magic and version
  FrameHeader header;
  header.type = static_cast<FrameType>(reader.get<std::uint16_t>());
  header.generation = reader.get<std::uint32_t>();
  header.source_rank = reader.get<std::int32_t>();
  header.sequence = reader.get<std::uint64_t>();
  header.payload_bytes = reader.get<std::uint64_t>();
  std::ranges::copy(reader.get_bytes(header.tag.size()), header.tag.begin());
  header.payload_checksum = reader.get<std::uint64_t>();
  return header;
}

}  // namespace

EncodedHeader seal(const FrameHeader& header, std::span<const std::byte> payload, FrameMac* mac) {
  EncodedHeader bytes{};
  put_at(bytes, 0, kMagic);
  put_at(bytes, 4, kVersion);
  put_at(bytes, 6, static_cast<std::uint16_t>(header.type));
  put_at(bytes, 8, header.generation);
  put_at(bytes, 12, header.source_rank);
  put_at(bytes, 16, header.sequence);
  put_at(bytes, 24, static_cast<std::uint64_t>(payload.size()));
  std::ranges::copy(header.tag, bytes.begin() + 32);
  if (mac != nullptr) {
    std::ranges::copy(mac->next_sent(std::span(bytes).first(kTagOffset), payload), bytes.begin() + kTagOffset);
    return bytes;
  }
  put_at(bytes, kTagOffset, checksum(payload));
  put_at(bytes, kChecksumOffset, checksum(std::span(bytes).first(kChecksumOffset)));
  return bytes;
}

FrameHeader open_header(std::span<const std::byte, kFrameHeaderBytes> bytes, const FrameLimits& limits,
                        const std::string& peer, const FrameMac* mac) {
  ByteReader start(bytes);
  if (start.get<std::uint32_t>() != kMagic) {
    throw FormatError(concat(peer, " sent \"", printable(bytes), "\", which is no Lockstep frame"));
  }
  if (const auto version = start.get<std::uint16_t>(); version != kVersion) {
    throw FormatError(concat(peer, " speaks version ", version, " of the wire format, this program ", kVersion));
  }
  if (mac == nullptr && ByteReader(bytes.last(8)).get<std::uint64_t>() != checksum(bytes.first(kChecksumOffset))) {
    throw FormatError(concat(peer, " sent a damaged frame header (wrong checksum)"));
  }
  FrameHeader header = decode(bytes);
  if (mac != nullptr) header.payload_checksum = 0;
  if (header.generation != limits.generation) {
    throw FormatError(
        concat(peer, " belongs to generation ", header.generation, " of the job, this rank to ", limits.generation));
  }
  if (header.payload_bytes > limits.max_payload_bytes) {
    throw FormatError(concat(peer, " announced a payload of ", header.payload_bytes, " bytes; at most ",
                             limits.max_payload_bytes, " are accepted here"));
  }
  return header;
}

void check_payload(std::span<const std::byte, kFrameHeaderBytes> header, std::span<const std::byte> payload,
                   const std::string& peer, FrameMac* mac) {
  const auto sealed = header.last<kFrameHeaderBytes - kTagOffset>();
  if (mac != nullptr) {
    if (mac->is_next_received(header.first(kTagOffset), payload, sealed)) return;
    throw FormatError(concat(peer, ": a frame of ", payload.size(),
                             " bytes of payload was changed, repeated or forged ",
                             "on the way (wrong authentication code)"));
  }
  if (ByteReader(sealed).get<std::uint64_t>() == checksum(payload)) return;
  throw FormatError(concat(peer, " sent a damaged payload of ", payload.size(), " bytes (wrong checksum)"));
}

void send_frame(StreamSocket& socket, const FrameHeader& header, std::span<const std::byte> payload,
                const Deadline& deadline) {
  socket.send_all(seal(header, payload, socket.frame_mac()), payload, deadline);
}

Frame receive_frame(StreamSocket& socket, const FrameLimits& limits, const Deadline& deadline) {
  EncodedHeader bytes;
  socket.receive_exactly(bytes, deadline);
  Frame frame{open_header(bytes, limits, socket.peer(), socket.frame_mac()), {}};
  frame.payload.resize(frame.header.payload_bytes);
  socket.receive_exactly(frame.payload, deadline);
  check_payload(bytes, frame.payload, socket.peer(), socket.frame_mac());
  return frame;
}

}  // namespace lockstep::net
