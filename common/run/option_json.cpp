#include <concepts>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.hpp"
#include "run/option_list.hpp"

namespace lockstep::run {
namespace {

using Paths = std::vector<std::filesystem::path>;

template <typename T>
nlohmann::json to_value(const T& field) {
  if constexpr (std::same_as<T, std::filesystem::path>) {
    return field.string();
  } else if constexpr (std::same_as<T, Paths>) {
    nlohmann::json values = nlohmann::json::array();
    for (const std::filesystem::path& path : field) values.push_back(path.string());
    return values;
  } else {
    return field;
  }
}

template <typename T>
void from_value(const nlohmann::json& value, T& field) {
  if constexpr (std::same_as<T, std::filesystem::path>) {
    field = value.get<std::string>();
  } else if constexpr (std::same_as<T, Paths>) {
    const auto texts = value.get<std::vector<std::string>>();
    field.assign(texts.begin(), texts.end());
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
