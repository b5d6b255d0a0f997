#pragma once
/// @file
/// Injected failures of system calls, one per trial, from a plan in this repository.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::test {

/// "rank0 write 3 ENOSPC": the third write() of rank 0 fails with "No space left on device". failing_calls.cpp, the
/// library that injects the failure, lists the processes and calls.
struct FailingCall {
  std::string process;  ///< launcher, rank0, rank1, saver, grader.
  std::string call;     ///< open, write, fsync, rename, unlink, mmap, clone, epoll.
  int nth = 1;          ///< From 1, in that process.
  std::string error;    ///< "ENOSPC".

  /// As in the plan.
  [[nodiscard]] std::string text() const;
  /// Environment variables that cause the failure. @param log  A file that receives the call and its path.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables(const std::filesystem::path& log) const;
  /// True if a program's output names the error, in the system's words or in equivalent ones of ours.
  [[nodiscard]] bool is_named_in(const std::string& text) const;
};

/// The lines of tests/support/failing_calls.plan about one of these processes.
/// @throws FormatError  A line is malformed.
[[nodiscard]] std::vector<FailingCall> planned_calls(const std::vector<std::string>& processes);

/// If LOCKSTEP_FAILING_CALLS is "all", all of `calls`; if it is another text, those that contain it; if it is unset,
/// `count` of them, evenly spaced.
[[nodiscard]] std::vector<FailingCall> chosen_calls(std::vector<FailingCall> calls, std::size_t count);

/// True if LOCKSTEP_FAILING_CALLS is set: then more is printed.
[[nodiscard]] bool are_many_calls_chosen();

}  // namespace lockstep::test
