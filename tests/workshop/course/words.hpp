#pragma once
/// @file
/// Counts wordings that nobody would say aloud, in comments, messages and lessons, and holds their numbers down.
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "course/text_file.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// A habit of writing that plain English does without.
struct Habit {
  std::string_view name;                  ///< As reports call it.
  std::vector<std::string_view> phrases;  ///< Lower case; found as whole words, also across line breaks.
  bool begins_sentence = false;           ///< Count only sentences that begin so and are not questions.
  std::string_view better;                ///< Advice.
  std::size_t limit = 0;                  ///< Findings that are allowed in the whole project.
};

/// The habits that are counted, with the project's present numbers as limits: lower a limit after mending some.
[[nodiscard]] const std::vector<Habit>& counted_habits();

/// Finds a habit in comments and literals of a C++ file, or in the prose of a Markdown file.
/// @return  One entry for each line: its place, and the words around.
[[nodiscard]] Problems find_habit(const course::TextFile& file, const Habit& habit);

/// For each habit found more often below `root` than its limit: the numbers, the advice, and all places.
[[nodiscard]] Problems check_words(const std::filesystem::path& root, const std::vector<Habit>& habits);

}  // namespace lockstep::checks
