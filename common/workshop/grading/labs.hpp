#pragma once
/// @file
/// Which exercises are handed in together: exercises/labs.json, and exercises named on a command line.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::grading {

/// One lab. Its automatic part is what `grade` gives points for; counts and report are the instructor's.
struct Lab {
  int number = 0;                      ///< From 1.
  std::string title;                   ///< In words.
  std::vector<std::string> exercises;  ///< "02.1", or "02.*" for a whole chapter.
  double automatic_percent = 0;        ///< Of the lab's mark: the exercises.
  double counts_percent = 0;           ///< Bytes, steps and passes against a bound.
  double report_percent = 0;           ///< The written part.
};

/// @param root  The project's. @throws FormatError  The file is not as it must be, or names an exercise that is none.
[[nodiscard]] std::vector<Lab> read_labs(const std::filesystem::path& root,
                                         const std::vector<exercise::Exercise>& catalogue);

/// The exercises of a lab, or those named, or all; in the catalogue's order.
/// @param lab  0: none. @param words  As a user names exercises.
/// @throws UsageError  There is no such lab or exercise, or the lab has none yet.
[[nodiscard]] std::vector<exercise::Exercise> chosen_exercises(const std::filesystem::path& root,
                                                               const std::vector<exercise::Exercise>& catalogue,
                                                               int lab, const std::vector<std::string>& words);

}  // namespace lockstep::grading
