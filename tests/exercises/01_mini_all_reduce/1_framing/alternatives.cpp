#include "exercise/alternatives.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "01_mini_all_reduce/1_framing/framing.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"one_buffer", "length and payload are copied into one buffer, and sent from there"},
    {"byte_by_byte", "each call moves a single byte"},
    {"htonl", "the length goes through htonl() and memcpy(), as in C"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::framing {

using exercise::is_alternative;

void send_all(Link& link, std::span<const std::byte> bytes) {
  if (is_alternative("byte_by_byte")) {
    for (std::size_t i = 0; i < bytes.size(); ++i) link.send_some(bytes.subspan(i, 1));
    return;
  }
  for (std::size_t sent = 0; sent != bytes.size();) sent += link.send_some(bytes.last(bytes.size() - sent));
}

std::size_t receive_all(Link& link, std::span<std::byte> bytes) {
  const std::size_t most = is_alternative("byte_by_byte") ? 1 : bytes.size();
  for (std::size_t received = 0; received < bytes.size();) {
    const std::size_t count = link.receive_some(bytes.subspan(received, std::min(most, bytes.size() - received)));
    if (count == 0) return received;
    received += count;
  }
  return bytes.size();
}

void send_frame(Link& link, std::span<const std::byte> payload) {
  std::uint32_t length = htonl(static_cast<std::uint32_t>(payload.size()));
  if (!is_alternative("one_buffer")) {
    send_all(link, std::as_bytes(std::span(&length, 1)));
    return send_all(link, payload);
  }
  std::vector<std::byte> frame(kLengthBytes + payload.size());
  std::memcpy(frame.data(), &length, kLengthBytes);
  std::ranges::copy(payload, frame.begin() + kLengthBytes);
  send_all(link, frame);
}

std::optional<std::vector<std::byte>> receive_frame(Link& link) {
  std::uint32_t length = 0;
  const std::size_t received = receive_all(link, std::as_writable_bytes(std::span(&length, 1)));
  if (received == 0) return std::nullopt;
  if (received < kLengthBytes) throw IoError("the peer has closed inside a length", 0);
  length = ntohl(length);
  if (length > kLargestPayload) throw FormatError("a frame that is too large");
  std::vector<std::byte> payload;
  if (!is_alternative("byte_by_byte")) {
    payload.resize(length);
    if (receive_all(link, payload) < length) throw IoError("the peer has closed inside a payload", 0);
    return payload;
  }
  for (std::byte byte{}; payload.size() < length; payload.push_back(byte))
    if (link.receive_some(std::span(&byte, 1)) == 0) throw IoError("the peer has closed inside a payload", 0);
  return payload;
}

}  // namespace lockstep::framing
