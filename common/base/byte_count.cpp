#include "base/byte_count.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.hpp"

namespace lockstep {

std::optional<std::uint64_t> parse_byte_count(const std::string& text) {
  constexpr double kMost = 1e18;
  static const std::map<std::string, double> kUnits = {{"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},
                                                       {"GB", 1e9},  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                                       {"TB", 1e12}, {"TiB", 0x1p40}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = kUnits.find(text.substr(end));
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number);
  const bool is_number = error == std::errc() && stop == text.data() + end;
  if (unit == kUnits.end() || !is_number || number * unit->second > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(number * unit->second);
}

OptionCheck byte_count() {
  return [](const std::string& text) -> std::string {
    if (parse_byte_count(text).value_or(0) > 0) return "";
    return concat("'", text, "' is not a number of bytes: write 200MiB, 1.5GiB or 250MB");
  };
}

}  // namespace lockstep
