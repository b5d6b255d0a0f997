#include "data/token_file_header.hpp"

#include <string_view>

#include "base/error.hpp"
#include "base/foreign_file.hpp"

namespace lockstep::data {
namespace {

constexpr std::int32_t kLargeTokenMagic = 20240801;  // llm.c's files for Llama 3: tokens of four bytes

// The index-th little-endian int32.
std::int32_t number_at(std::span<const std::byte> header, std::size_t index) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(header[4 * index + i]);
  return static_cast<std::int32_t>(value);
}

void put_number(std::span<std::byte> header, std::size_t index, std::int32_t number) {
  auto value = static_cast<std::uint32_t>(number);
  for (std::size_t i = 0; i < 4; ++i, value >>= 8) header[4 * index + i] = static_cast<std::byte>(value & 0xFF);
}

constexpr const char* kWriteIt = "; write it again with `lockstep data tokens`, or give a text file another name";

}  // namespace

std::int64_t parse_token_file_header(std::span<const std::byte> header, std::int64_t file_bytes,
                                     const std::string& name) {
  const bool is_too_short =
      static_cast<std::int64_t>(header.size()) < kTokenFileHeaderBytes || file_bytes < kTokenFileHeaderBytes;
  if (is_too_short || number_at(header, 0) != kTokenFileMagic) {
    const std::string_view beginning(reinterpret_cast<const char*>(header.data()), header.size());
    if (const auto foreign = explain_foreign_file(beginning, name))
      throw FormatError(concat(name, " ", foreign->explanation));
  }
  if (is_too_short) {
    throw FormatError(concat(name, " has ",
                             std::min<std::int64_t>(file_bytes, static_cast<std::int64_t>(header.size())),
                             " bytes, fewer than the ", kTokenFileHeaderBytes, " of a token file's header", kWriteIt));
  }
  const std::int32_t magic = number_at(header, 0), version = number_at(header, 1);
  if (magic == kLargeTokenMagic) {
    throw FormatError(concat(name,
                             " holds tokens of four bytes (llm.c's format for Llama 3): only the format with two "
                             "bytes, which begins with ",
                             kTokenFileMagic, ", is read here"));
  }
  if (magic != kTokenFileMagic) {
    throw FormatError(
        concat(name, " begins with ", magic, " instead of ", kTokenFileMagic, ": it is not a token file", kWriteIt));
  }
  if (version != kTokenFileVersion) {
    throw FormatError(concat(name, " is a token file of version ", version, "; version ", kTokenFileVersion,
                             " is read here", kWriteIt));
  }
  const std::int64_t token_count = number_at(header, 2);
  if (token_count < 1) throw FormatError(concat(name, " says that it has ", token_count, " tokens", kWriteIt));
  const std::int64_t expected = kTokenFileHeaderBytes + token_count * kTokenBytes;
  if (file_bytes != expected) {
    throw FormatError(concat(name, " has ", file_bytes, " bytes, but its header says ", token_count,
                             " tokens, which is ", expected, ": it was cut off or is still being written", kWriteIt));
  }
  return token_count;
}

std::vector<std::byte> token_file_header(std::int64_t token_count) {
  require(token_count >= 1 && token_count <= kMostTokensOfFile, "a token file of ", token_count, " tokens");
  std::vector<std::byte> header(static_cast<std::size_t>(kTokenFileHeaderBytes));
  put_number(header, 0, kTokenFileMagic);
  put_number(header, 1, kTokenFileVersion);
  put_number(header, 2, static_cast<std::int32_t>(token_count));
  return header;
}

}  // namespace lockstep::data
