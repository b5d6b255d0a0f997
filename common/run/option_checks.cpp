#include "run/option_checks.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "data/tokenizer.hpp"
#include "device/device.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

// The number that is the whole of `text`, or nothing.
template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return number;
}

bool is_readable_file(const std::string& path) {
  return std::filesystem::is_regular_file(path) && std::ifstream(path).good();
}

template <typename Number>
CLI::Validator number_in(const char* kind, Number minimum, Number maximum, bool is_bounded) {
  const std::string range = is_bounded ? concat(" from ", minimum, " to ", maximum) : concat(" of at least ", minimum);
  const auto check = [=](const std::string& text) -> std::string {
    const std::optional<Number> number = parse<Number>(text);
    if (number && *number >= minimum && *number <= maximum) return "";
    return concat("'", text, "' is not ", kind, range);
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator whole_number(std::int64_t minimum, std::int64_t maximum) {
  return number_in<std::int64_t>("a whole number", minimum, maximum, maximum != INT64_MAX);
}

CLI::Validator real_number(double minimum, double maximum) {
  return number_in<double>("a number", minimum, maximum, maximum < 1e300);
}

CLI::Validator one_of(std::vector<std::string> values) {
  const auto check = [values = std::move(values)](const std::string& text) -> std::string {
    std::string list;
    for (const std::string& value : values) {
      if (value == text) return "";
      list += (list.empty() ? "" : ", ") + value;
    }
    return concat("there is no '", text, "'", did_you_mean(text, values), " (", list, ")");
  };
  return CLI::Validator(check, "");
}

CLI::Validator device_name() {
  const auto check = [](const std::string& text) -> std::string {
    try {
      (void)Device::parse(text);
      return "";
    } catch (const FormatError& error) {
      return error.what();
    }
  };
  return CLI::Validator(check, "");
}

CLI::Validator readable_file() {
  const auto check = [](const std::string& text) -> std::string {
    if (is_readable_file(text)) return "";
    return concat("there is no readable file '", text, "'");
  };
  return CLI::Validator(check, "");
}

CLI::Validator readable_file_or(std::string word) {
  const auto check = [word = std::move(word)](const std::string& text) -> std::string {
    if (text == word || is_readable_file(text)) return "";
    return concat("there is no readable file '", text, "' (and the only data without a file are called ", word, ")");
  };
  return CLI::Validator(check, "");
}

CLI::Validator tokenizer_spec() {
  const auto check = [](const std::string& text) -> std::string {
    try {
      const std::string file = data::parse_tokenizer_spec(text).file;
      if (file.empty() || is_readable_file(file)) return "";
      return concat("there is no readable file '", file, "'");
    } catch (const FormatError& error) {
      return error.what();
    }
  };
  return CLI::Validator(check, "");
}

CLI::Validator run_folder() {
  const auto check = [](const std::string& text) -> std::string {
    if (std::filesystem::is_regular_file(std::filesystem::path(text) / "metrics.jsonl") || latest_run(text)) return "";
    return concat("'", text, "' is not the folder of a run (it has no metrics.jsonl), and there is no run in it");
  };
  return CLI::Validator(check, "");
}

}  // namespace lockstep::run
