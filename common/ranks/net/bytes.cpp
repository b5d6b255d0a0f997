#include "net/bytes.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::net {

std::string printable(std::span<const std::byte> bytes) {
  constexpr std::size_t kMaxShown = 32;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kMaxShown))) {
    const auto code = static_cast<unsigned char>(byte);
    if (code >= 0x20 && code < 0x7F)
      text.push_back(static_cast<char>(code));
    else
      text.append("\\x").append({kHex[code >> 4], kHex[code & 0xF]});
  }
  return bytes.size() > kMaxShown ? text + "..." : text;
}

std::span<const std::byte> ByteReader::get_bytes(std::size_t count) {
  if (count > rest_.size()) {
    throw FormatError(concat("message ends early: ", count, " bytes expected, ", rest_.size(), " left"));
  }
  const auto bytes = rest_.first(count);
  rest_ = rest_.subspan(count);
  return bytes;
}

}  // namespace lockstep::net
