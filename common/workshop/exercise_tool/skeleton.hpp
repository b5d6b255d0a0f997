#pragma once
/// @file
/// The files of a new exercise. They work unchanged; comments tell the author what to replace.
#include <filesystem>
#include <map>
#include <string>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// Paths relative to the project's root, with the files' texts, made from common/workshop/exercise_tool/skeleton. The
/// exercise is to add up numbers; it passes the gates.
/// @param root  The project's root. @param exercise  With id, chapter, name, title. @throws IoError
[[nodiscard]] std::map<std::string, std::string> skeleton_of(const std::filesystem::path& root,
                                                             const Exercise& exercise);

}  // namespace lockstep::exercise
