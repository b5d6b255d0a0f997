#include "run/scalar_names.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace lockstep::run {
namespace {

std::string as_utf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    result += bytes == 0 ? kReplacement : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

}  // namespace

std::vector<std::pair<std::string, double>> named_scalars(const Scalars& values, std::string_view reserved) {
  std::set<std::string, std::less<>> taken;
  if (!reserved.empty()) taken.emplace(reserved);
  // A scalar keeps its name if it can: a renamed one must not take it.
  for (const auto& [name, value] : values) {
    if (as_utf8(name) == name && name != reserved) taken.insert(name);
  }
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [name, value] : values) {
    const std::string readable = as_utf8(name);
    std::string unique = readable;
    if (readable != name || readable == reserved) {
      for (int number = 2; !taken.insert(unique).second; ++number) unique = concat(readable, " (", number, ')');
    }
    scalars.emplace_back(std::move(unique), value);
  }
  return scalars;
}

}  // namespace lockstep::run
