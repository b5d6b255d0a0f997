#include "base/environment.hpp"

#include <charconv>
#include <cstdlib>

#include "base/error.hpp"

namespace lockstep::environment {

std::optional<std::string> get(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<std::int64_t> get_int(const std::string& name, std::int64_t minimum, std::int64_t maximum) {
  const auto text = get(name);
  if (!text) return std::nullopt;
  return parse_int(name, *text, minimum, maximum);
}

std::int64_t parse_int(const std::string& name, const std::string& text, std::int64_t minimum, std::int64_t maximum) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < minimum || value > maximum) {
    throw FormatError(
        concat("environment variable ", name, "=", text, " is not an integer from ", minimum, " to ", maximum));
  }
  return value;
}

}  // namespace lockstep::environment
