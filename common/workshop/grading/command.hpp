#pragma once
/// @file
/// The commands of lockstep_grade, one function each. They receive the arguments and return the exit code.
#include <string>
#include <vector>

namespace lockstep::grading {

using Arguments = std::vector<std::string>;

/// Packs a learner's files into a zip.
int submit(const Arguments& arguments);
/// Grades a class.
int grade(const Arguments& arguments);
/// Grades one submission; grade() runs it for each, in a separate process.
int grade_one(const Arguments& arguments);

}  // namespace lockstep::grading
