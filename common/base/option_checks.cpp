#include "base/option_checks.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/nearest_match.hpp"

namespace lockstep {
namespace {

// Parses all of `text` as a number, or returns nothing.
template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return number;
}

template <typename Number>
OptionCheck number_in(const char* kind, Number minimum, Number maximum, bool is_bounded) {
  const std::string range = is_bounded ? concat(" from ", minimum, " to ", maximum) : concat(" of at least ", minimum);
  return [=](const std::string& text) -> std::string {
    const std::optional<Number> number = parse<Number>(text);
    if (number && *number >= minimum && *number <= maximum) return "";
    return concat("'", text, "' is not ", kind, range);
  };
}

}  // namespace

OptionCheck whole_number(std::int64_t minimum, std::int64_t maximum) {
  return number_in<std::int64_t>("a whole number", minimum, maximum, maximum != INT64_MAX);
}

OptionCheck real_number(double minimum, double maximum) {
  return number_in<double>("a number", minimum, maximum, maximum < 1e300);
}

OptionCheck positive_number() {
  return [](const std::string& text) -> std::string {
    const std::optional<double> number = parse<double>(text);
    if (number && *number > 0 && *number <= 1e300) return "";
    return concat("'", text, "' is not a number greater than 0");
  };
}

OptionCheck positive_seconds() {
  return [](const std::string& text) -> std::string {
    constexpr double kMostSeconds = 1e9;
    const std::optional<double> seconds = parse<double>(text);
    if (seconds && *seconds > 0 && *seconds <= kMostSeconds) return "";
    return concat("'", text, "' is not a number of seconds greater than 0 and at most 1000000000");
  };
}

OptionCheck readable_file() {
  return [](const std::string& text) -> std::string {
    if (std::filesystem::is_regular_file(text) && std::ifstream(text).good()) return "";
    return concat("there is no readable file '", text, "'");
  };
}

OptionCheck one_of(std::vector<std::string> values) {
  return [values = std::move(values)](const std::string& text) -> std::string {
    std::string list;
    for (const std::string& value : values) {
      if (value == text) return "";
      list += (list.empty() ? "" : ", ") + value;
    }
    return concat("there is no '", text, "'", did_you_mean(text, values), " (", list, ")");
  };
}

}  // namespace lockstep
