#include "launch/watching/pickle.hpp"

#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace lockstep::launch {
namespace {

void append_little_endian(std::string& out, std::uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((bits >> (8 * i)) & 0xFF);
}

// LONG1: a count of bytes, then an integer in two's complement.
void append_integer(std::string& out, std::uint64_t bits, bool is_negative) {
  out += '\x8a';
  out += '\x09';
  append_little_endian(out, bits, 8);
  out += is_negative ? '\xff' : '\0';
}

// BINUNICODE
void append_text(std::string& out, const std::string& text) {
  out += 'X';
  append_little_endian(out, text.size(), 4);
  out += text;
}

// BINFLOAT is big-endian.
void append_real(std::string& out, double value) {
  out += 'G';
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int i = 7; i >= 0; --i) out += static_cast<char>((bits >> (8 * i)) & 0xFF);
}

void append(std::string& out, const nlohmann::json& value) {
  using Type = nlohmann::json::value_t;
  switch (value.type()) {
    case Type::boolean:
      out += value.get<bool>() ? '\x88' : '\x89';
      return;
    case Type::number_integer:
      return append_integer(out, static_cast<std::uint64_t>(value.get<std::int64_t>()), value.get<std::int64_t>() < 0);
    case Type::number_unsigned:
      return append_integer(out, value.get<std::uint64_t>(), false);
    case Type::number_float:
      return append_real(out, value.get<double>());
    case Type::string:
      return append_text(out, value.get_ref<const std::string&>());
    case Type::array:
      out += "](";  // EMPTY_LIST, MARK
      for (const nlohmann::json& element : value) append(out, element);
      out += 'e';  // APPENDS
      return;
    case Type::object:
      out += "}(";  // EMPTY_DICT, MARK
      for (const auto& [key, member] : value.items()) {
        append_text(out, key);
        append(out, member);
      }
      out += 'u';  // SETITEMS
      return;
    default:
      out += 'N';  // NONE
  }
}

}  // namespace

std::string to_pickle(const nlohmann::json& value) {
  std::string out = "\x80\x02";  // PROTO 2
  append(out, value);
  return out + '.';
}

}  // namespace lockstep::launch
