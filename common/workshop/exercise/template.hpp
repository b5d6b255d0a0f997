#pragma once
/// @file
/// From a solution to the template that a learner starts with: the marked regions become calls of todo().
#include <string>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// Replaces each region
///
///     // SOLUTION(02.1) reduce_scatter: send one chunk, add the one that arrives
///     ...
///     // END SOLUTION
///
/// by a comment with the same hint and a call of lockstep::todo("02.1 reduce_scatter"). Where there is something to
/// mend instead, lines `//| code` of the region are the faulty code, which the template has in place of the call. A
/// region without a name (`// SOLUTION(04.1): hint`) becomes the comment alone. It is for the bodies of kernels, which
/// cannot throw: the function that launches the kernel has a region with a name.
/// @param solution  The solution's text. @param exercise  Whose it is.
/// @throws FormatError  A region is not closed, not named, of another exercise, or there is none; says at which line.
[[nodiscard]] std::string make_template(const std::string& solution, const Exercise& exercise);

}  // namespace lockstep::exercise
