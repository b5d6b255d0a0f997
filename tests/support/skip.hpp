#pragma once
/// @file
/// Skips test cases that cannot run on this machine.
#include <string>

namespace lockstep::test {

/// Exit status of a skipped test (SKIP_RETURN_CODE of CTest).
inline constexpr int kSkipped = 77;

/// Ends the running test case as skipped; the program's other cases continue. The reason is printed, and the case
/// counts as skipped unless one of its assertions has failed. If all cases that ran were skipped, the program ends with
/// kSkipped (CTest runs one case at a time). Only for the thread that runs the case, and not inside an assertion.
[[noreturn]] void skip(const std::string& reason);

}  // namespace lockstep::test
