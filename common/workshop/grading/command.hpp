#pragma once
/// @file
/// The words of lockstep_grade: one function each. They get what follows the word and return the exit code.
#include <string>
#include <vector>

namespace lockstep::grading {

using Arguments = std::vector<std::string>;

/// Puts a learner's files into a zip.
int submit(const Arguments& arguments);
/// Grades a class.
int grade(const Arguments& arguments);
/// Grades one submission: what grade() starts for each, as a process of its own.
int grade_one(const Arguments& arguments);

}  // namespace lockstep::grading
