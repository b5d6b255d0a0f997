#pragma once
/// @file
/// git that writes to standard error, as its warnings do, until the end of a scope.
#include <cstdlib>

namespace lockstep::test {

/// Sets GIT_TRACE for this process and those that it starts.
class TracedGit {
 public:
  TracedGit() { ::setenv("GIT_TRACE", "1", 1); }
  TracedGit(const TracedGit&) = delete;
  TracedGit& operator=(const TracedGit&) = delete;
  ~TracedGit() { ::unsetenv("GIT_TRACE"); }
};

}  // namespace lockstep::test
