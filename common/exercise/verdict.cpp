#include "exercise/verdict.hpp"

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

}  // namespace lockstep::exercise
