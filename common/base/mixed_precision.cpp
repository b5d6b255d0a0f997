#include "base/mixed_precision.hpp"

#include "base/error.hpp"
#include "base/option_checks.hpp"

namespace lockstep {
namespace {

constexpr MixedPrecision kAll[] = {MixedPrecision::kNo, MixedPrecision::kBf16, MixedPrecision::kFp16};

}  // namespace

std::string_view name_of(MixedPrecision precision) noexcept {
  switch (precision) {
    case MixedPrecision::kNo:
      return "no";
    case MixedPrecision::kBf16:
      return "bf16";
    case MixedPrecision::kFp16:
      return "fp16";
  }
  return "unknown";
}

std::vector<std::string> mixed_precision_names() {
  std::vector<std::string> names;
  for (const MixedPrecision precision : kAll) names.emplace_back(name_of(precision));
  return names;
}

MixedPrecision parse_mixed_precision(std::string_view name, std::string_view where) {
  for (const MixedPrecision precision : kAll) {
    if (name_of(precision) == name) return precision;
  }
  throw UsageError(concat(where, ": ", one_of(mixed_precision_names())(std::string(name))));
}

}  // namespace lockstep
