#pragma once
/// @file
/// The judges of one chapter. CMake generates their list: exercise CC.K is judged by judge_CC_K().
#include <map>
#include <string>

#include "exercise/examination.hpp"

namespace lockstep::exercise {

/// By the exercise's number, such as "02.1".
[[nodiscard]] std::map<std::string, Judge> judges();

}  // namespace lockstep::exercise
