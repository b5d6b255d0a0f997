#include "launch/grace.hpp"

#include <cmath>
#include <cstdlib>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::launch {
namespace {

constexpr std::chrono::seconds kDefaultGrace{30};

}  // namespace

std::optional<std::chrono::milliseconds> parse_grace(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && *end == '\0' && seconds >= 0 && seconds <= kLongestGrace.count();
  if (!is_number) return std::nullopt;
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

std::chrono::milliseconds default_grace() {
  constexpr const char* kVariable = "LOCKSTEP_GRACE_SECONDS";
  const auto text = environment::get(kVariable);
  if (!text) return kDefaultGrace;
  if (const auto grace = parse_grace(*text)) return *grace;
  throw FormatError(concat(kVariable, " is ", *text, ", must be seconds from 0 to ", kLongestGrace.count()));
}

}  // namespace lockstep::launch
