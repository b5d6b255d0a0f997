// submit and grade. A separate program, so that learners need not build it, nor install a library for archives.
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "grading/command.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  const std::vector<std::string> words(argv + 1, argv + argc);
  return run_guarded("lockstep", [&] {
    const std::vector<std::string> rest(words.empty() ? words.end() : words.begin() + 1, words.end());
    if (!words.empty() && words.front() == "submit") return grading::submit(rest);
    if (!words.empty() && words.front() == "grade") return grading::grade(rest);
    if (!words.empty() && words.front() == "grade-one") return grading::grade_one(rest);
    throw UsageError("submit or grade?");
  });
}
