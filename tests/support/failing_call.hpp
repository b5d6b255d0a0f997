#pragma once
/// @file
/// System calls that fail on purpose, one in each trial, from a plan that is a file of this repository.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::test {

/// "rank0 write 3 ENOSPC": the third write() of rank 0 fails with "No space left on device". What processes and calls
/// there are: failing_calls.cpp, a library that makes it happen.
struct FailingCall {
  std::string process;  ///< launcher, rank0, rank1, saver, grader.
  std::string call;     ///< open, write, fsync, rename, unlink, mmap, clone, epoll.
  int nth = 1;          ///< From 1, in that process.
  std::string error;    ///< "ENOSPC".

  /// As in the plan.
  [[nodiscard]] std::string text() const;
  /// What makes it happen. @param log  A file that then names the call and what it was about.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables(const std::filesystem::path& log) const;
  /// Whether a program's words name the error: in the system's words, or in ours that stand for them.
  [[nodiscard]] bool is_named_in(const std::string& text) const;
};

/// The lines of tests/support/failing_calls.plan that are about one of these processes.
/// @throws FormatError  A line cannot be read.
[[nodiscard]] std::vector<FailingCall> planned_calls(const std::vector<std::string>& processes);

/// All of `calls` if LOCKSTEP_FAILING_CALLS is "all", only those whose text contains it if it is something else; if it
/// is not set, `count` of them, evenly chosen.
[[nodiscard]] std::vector<FailingCall> chosen_calls(std::vector<FailingCall> calls, std::size_t count);

/// Whether LOCKSTEP_FAILING_CALLS is set: more is printed then.
[[nodiscard]] bool are_many_calls_chosen();

}  // namespace lockstep::test
