#pragma once
/// @file
/// Makes the template that a learner starts with from a solution: calls of todo() replace the marked regions.
#include <string>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// Replaces each region
///
///     // SOLUTION(02.1) reduce_scatter: send one chunk, add the one that arrives
///     ...
///     // END SOLUTION
///
/// by a comment with the same hint and a call of lockstep::todo("02.1 reduce_scatter"). For an exercise in mending,
/// lines `//| code` of the region are faulty code, which replaces the call. A region without a name (`//
/// SOLUTION(04.1): hint`) becomes the comment alone. It is for the bodies of kernels, which cannot throw: the function
/// that launches the kernel has a named region.
/// @param solution  The solution's text. @param exercise  The exercise that it belongs to.
/// @throws FormatError  A region is not closed, not named or of another exercise, or there is none; names the line.
[[nodiscard]] std::string make_template(const std::string& solution, const Exercise& exercise);

}  // namespace lockstep::exercise
