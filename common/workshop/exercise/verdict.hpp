#pragma once
/// @file
/// The possible verdicts on a tried program.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::exercise {

/// How a trial ended. The classes are disjoint.
enum class VerdictClass {
  kPassed,
  kTodo,     ///< A part is unwritten.
  kBuild,    ///< It does not compile or link.
  kCrash,    ///< A signal, an exit before the answer, or an exception.
  kWrong,    ///< It answered, and the answer is wrong.
  kHang,     ///< Every unfinished rank sleeps in a wait, and nothing moves.
  kLoop,     ///< Nothing moves while a rank computes.
  kSlow,     ///< It moves, but its time is up.
  kRace,     ///< The emulator found a data race in a kernel.
  kLeak,     ///< It left something behind.
  kSkipped,  ///< This machine lacks something.
  kSetup     ///< The judge itself failed.
};

/// As printed: "WRONG".
[[nodiscard]] std::string_view name_of(VerdictClass verdict) noexcept;

/// The reverse of name_of(). @throws FormatError  No such class.
[[nodiscard]] VerdictClass verdict_named(std::string_view name);

/// Why a check did not pass.
struct Failure {
  VerdictClass verdict = VerdictClass::kWrong;
  std::string summary = {};                ///< One line: the finding, and its rank.
  std::vector<std::string> evidence = {};  ///< More lines: the wait-for graph, a stack, values, output.
  std::string next = {};                   ///< One thing to try; may be empty.
  bool is_killed = false;                  ///< An outside cause, such as a memory limit, ended a rank.
};

}  // namespace lockstep::exercise
