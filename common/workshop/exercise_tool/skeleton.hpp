#pragma once
/// @file
/// The files of a new exercise, which work as they are: an author replaces what they ask for.
#include <filesystem>
#include <map>
#include <string>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// Paths below the project's root and the files' texts, made from common/workshop/exercise_tool/skeleton. The exercise
/// is to add up numbers; it passes the gates.
/// @param root  Of the project. @param exercise  With id, chapter, name, title. @throws IoError
[[nodiscard]] std::map<std::string, std::string> skeleton_of(const std::filesystem::path& root,
                                                             const Exercise& exercise);

}  // namespace lockstep::exercise
