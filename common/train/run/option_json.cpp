#include <charconv>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "run/option_list.hpp"

namespace lockstep::run {
namespace {

// JSON strings must be UTF-8, but a path may be any bytes: others are written as {"hex": "66fc6c"}.
constexpr const char* kHex = "hex";

template <typename T>
concept Text = std::same_as<T, std::string> || std::same_as<T, std::filesystem::path>;

template <typename T>
nlohmann::json to_value(const T& field) {
  if constexpr (std::is_arithmetic_v<T>) {
    return field;
  } else if constexpr (Text<T>) {
    const std::string text = field;
    if (is_utf8(text)) return text;
    return {{kHex, hex_digits({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})}};
  } else {
    nlohmann::json values = nlohmann::json::array();
    for (const auto& element : field) values.push_back(to_value(element));
    return values;
  }
}

std::string text_from_hex(const std::string& digits) {
  std::string text;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    const std::string pair = digits.substr(at, 2);
    unsigned char byte = 0;
    if (std::from_chars(pair.data(), pair.data() + pair.size(), byte, 16).ptr != pair.data() + 2)
      throw FormatError(concat("options.json of the run: \"", digits, "\" is not bytes in hexadecimal digits"));
    text += static_cast<char>(byte);
  }
  return text;
}

template <typename T>
void from_value(const nlohmann::json& value, T& field) {
  if constexpr (std::is_arithmetic_v<T>) {
    value.get_to(field);
  } else if constexpr (Text<T>) {
    field = value.is_object() ? text_from_hex(value.at(kHex).get<std::string>()) : value.get<std::string>();
  } else {
    field.clear();
    for (const nlohmann::json& element : value) from_value(element, field.emplace_back());
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

std::string layout_words(const OptionList& given, const OptionList& defaults) {
  require(given.size() == defaults.size(), "a list of ", given.size(), " options with ", defaults.size(), " defaults");
  const auto value_of = [](const OptionDeclaration& option) {
    return std::visit([](const auto* field) { return nlohmann::json(to_value(*field)); }, option.field);
  };
  std::string words;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const nlohmann::json value = value_of(given[i]);
    if (given[i].kind != OptionKind::kLayout || value == value_of(defaults[i])) continue;
    words += " " + given[i].name;
    if (!value.is_boolean()) words += " " + (value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return words;
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
