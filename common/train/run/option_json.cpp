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

// JSON holds UTF-8 only, and a path may be any bytes: others are written as {"hex": "66fc6c"}.
constexpr const char* kHex = "hex";

nlohmann::json text_to_value(const std::string& text) {
  if (is_utf8(text)) return text;
  return {{kHex, hex_digits({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})}};
}

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

std::string text_from_value(const nlohmann::json& value) {
  return value.is_object() ? text_from_hex(value.at(kHex).get<std::string>()) : value.get<std::string>();
}

template <typename T>
nlohmann::json to_value(const T& field) {
  if constexpr (std::same_as<T, std::filesystem::path>) {
    return text_to_value(field.string());
  } else if constexpr (std::same_as<T, std::string>) {
    return text_to_value(field);
  } else if constexpr (std::same_as<T, Paths>) {
    nlohmann::json values = nlohmann::json::array();
    for (const std::filesystem::path& path : field) values.push_back(text_to_value(path.string()));
    return values;
  } else {
    return field;
  }
}

template <typename T>
void from_value(const nlohmann::json& value, T& field) {
  if constexpr (std::same_as<T, std::filesystem::path> || std::same_as<T, std::string>) {
    field = text_from_value(value);
  } else if constexpr (std::same_as<T, Paths>) {
    field.clear();
    for (const nlohmann::json& path : value) field.emplace_back(text_from_value(path));
  } else {
    value.get_to(field);
  }
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
