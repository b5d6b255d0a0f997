#include "exercise/verdict.hpp"

#include "base/error.hpp"

namespace lockstep::exercise {

std::string_view name_of(VerdictClass verdict) noexcept {
  switch (verdict) {
    case VerdictClass::kPassed:
      return "passed";
    case VerdictClass::kTodo:
      return "TODO";
    case VerdictClass::kBuild:
      return "BUILD";
    case VerdictClass::kCrash:
      return "CRASH";
    case VerdictClass::kWrong:
      return "WRONG";
    case VerdictClass::kHang:
      return "HANG";
    case VerdictClass::kLoop:
      return "LOOP";
    case VerdictClass::kSlow:
      return "SLOW";
    case VerdictClass::kRace:
      return "RACE";
    case VerdictClass::kLeak:
      return "LEAK";
    case VerdictClass::kSkipped:
      return "SKIPPED";
    case VerdictClass::kSetup:
      return "SETUP";
  }
  return "SETUP";
}

VerdictClass verdict_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(VerdictClass::kSetup); ++i)
    if (const auto verdict = static_cast<VerdictClass>(i); name_of(verdict) == name) return verdict;
  throw FormatError(concat("there is no verdict ", name));
}

}  // namespace lockstep::exercise
