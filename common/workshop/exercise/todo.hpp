#pragma once
/// @file
/// What stands in an exercise's template where a learner's code is to be.
#include <stdexcept>
#include <string>

namespace lockstep {

/// Thrown by todo().
class TodoError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Says that a part of an exercise is not written yet, which the judge does not take for a failure of another kind.
/// Replace the call by your code.
/// @param what  The exercise and the part of it. @throws TodoError  Always.
[[noreturn]] inline void todo(const std::string& what) { throw TodoError(what); }

}  // namespace lockstep
