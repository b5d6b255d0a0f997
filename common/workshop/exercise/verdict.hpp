#pragma once
/// @file
/// What can be said of a program that was tried.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::exercise {

/// How a trial ended. No two of these are ever mixed up.
enum class VerdictClass {
  kPassed,   ///< All is well.
  kTodo,     ///< A part is not written yet.
  kBuild,    ///< It does not compile or link.
  kCrash,    ///< A signal, an exit before the answer, or an exception.
  kWrong,    ///< It answered, and the answer is wrong.
  kHang,     ///< Every rank that has not finished sleeps in a wait, and nothing moves.
  kLoop,     ///< Nothing moves while a rank computes.
  kSlow,     ///< It moves, but its time is used up.
  kRace,     ///< The emulator found a memory fault in a kernel.
  kLeak,     ///< It left something behind.
  kSkipped,  ///< Something is missing on this machine.
  kSetup     ///< The judge itself could not do its work.
};

/// As printed: "WRONG".
[[nodiscard]] std::string_view name_of(VerdictClass verdict) noexcept;

/// The class of that name. @throws FormatError  There is none.
[[nodiscard]] VerdictClass verdict_named(std::string_view name);

/// Why a check did not pass.
struct Failure {
  VerdictClass verdict = VerdictClass::kWrong;  ///< Its class.
  std::string summary = {};                     ///< One line: what was found, at which rank.
  std::vector<std::string> evidence = {};       ///< More lines: the wait-for graph, a stack, values, what was printed.
  std::string next = {};                        ///< One thing to try; may be empty.
  bool is_killed = false;                       ///< Something outside, such as a memory limit, ended a rank.
};

}  // namespace lockstep::exercise
