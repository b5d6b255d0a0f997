#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "run/option_list.hpp"

namespace lockstep::run {
namespace {

using Paths = std::vector<std::filesystem::path>;

// JSON strings must be UTF-8, but a path may be any bytes: others are written as {"hex": "66fc6c"}.
constexpr const char* kHex = "hex";

nlohmann::json to_value(const std::string& text) {
  if (is_utf8(text)) return text;
  return {{kHex, hex_digits({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})}};
}

nlohmann::json to_value(const std::filesystem::path& path) { return to_value(path.string()); }

nlohmann::json to_value(const Paths& paths) {
  nlohmann::json values = nlohmann::json::array();
  for (const std::filesystem::path& path : paths) values.push_back(to_value(path));
  return values;
}

template <typename Number>
requires std::is_arithmetic_v<Number> nlohmann::json to_value(Number number) { return number; }

std::string text_from_hex(const std::string& digits) {
  std::string text;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    unsigned byte = 0;
    const char* const end = digits.data() + std::min(at + 2, digits.size());
    const auto [stop, error] = std::from_chars(digits.data() + at, end, byte, 16);
    if (error != std::errc{} || stop != end || end - digits.data() != static_cast<std::ptrdiff_t>(at + 2))
      throw FormatError(concat("options.json of the run: \"", digits, "\" is not bytes in hexadecimal digits"));
    text += static_cast<char>(byte);
  }
  return text;
}

template <typename T>
void from_value(const nlohmann::json& value, T& field) {
  value.get_to(field);
}

void from_value(const nlohmann::json& value, std::string& text) {
  text = value.is_object() ? text_from_hex(value.at(kHex).get<std::string>()) : value.get<std::string>();
}

void from_value(const nlohmann::json& value, std::filesystem::path& path) {
  std::string text;
  from_value(value, text);
  path = text;
}

void from_value(const nlohmann::json& value, Paths& paths) {
  paths.clear();
  for (const nlohmann::json& path : value) from_value(path, paths.emplace_back());
}

}  // namespace

nlohmann::json values_of(const OptionList& list) {
  nlohmann::json json;
  for (const OptionDeclaration& option : list) {
    if (!option.is_saved()) continue;
    std::visit([&](const auto* field) { json[option.json_name()] = to_value(*field); }, option.field);
  }
  return json;
}

void read_json(const nlohmann::json& json, const OptionList& list) {
  try {
    for (const OptionDeclaration& option : list) {
      if (!option.is_saved() || (option.is_new && !json.contains(option.json_name()))) continue;
      std::visit([&](auto* field) { from_value(json.at(option.json_name()), *field); }, option.field);
    }
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat("options.json of the run: ", error.what()));
  }
}

}  // namespace lockstep::run
