#pragma once
/// @file
/// Checks for option values; their messages name the valid values.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Checks a value as the user typed it. @return  The error message; empty if the value is valid.
using OptionCheck = std::function<std::string(const std::string&)>;

/// A whole number in [minimum, maximum].
[[nodiscard]] OptionCheck whole_number(std::int64_t minimum, std::int64_t maximum = INT64_MAX);

/// A finite number in [minimum, maximum].
[[nodiscard]] OptionCheck real_number(double minimum, double maximum = 1e300);

[[nodiscard]] OptionCheck positive_number();

/// A number of seconds greater than 0, for limits. At most 1e9 (32 years), which fits into every std::chrono duration.
[[nodiscard]] OptionCheck positive_seconds();

[[nodiscard]] OptionCheck readable_file();

/// One of `values`; the error names the nearest one.
[[nodiscard]] OptionCheck one_of(std::vector<std::string> values);

/// One of the names in `meanings`.
template <typename Meaning>
[[nodiscard]] OptionCheck one_of(const std::map<std::string, Meaning>& meanings) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : meanings) names.push_back(name);
  return one_of(std::move(names));
}

}  // namespace lockstep
