#pragma once
/// @file
/// A test case that cannot run on this machine.
#include <string>

namespace lockstep::test {

/// Exit status of a skipped test (SKIP_RETURN_CODE of CTest).
inline constexpr int kSkipped = 77;

/// Ends the running test case as skipped; the program's other cases go on. The reason is printed, and the case counts
/// as skipped unless an assertion of it has failed. If all cases that ran were skipped, as under CTest, which runs one
/// case at a time, the program ends with kSkipped. Only for the thread that runs the case, and not inside an assertion.
[[noreturn]] void skip(const std::string& reason);

}  // namespace lockstep::test
