#pragma once
/// @file
/// Labs (sets of exercises to submit together, exercises/labs.json), and the exercises that a command line names.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::grading {

/// One lab. `grade` awards the automatic part; the instructor awards counts and report.
struct Lab {
  int number = 0;  ///< From 1.
  std::string title;
  std::vector<std::string> exercises;  ///< "02.1", or "02.*" for a whole chapter.
  double automatic_percent = 0;        ///< Share of the lab's mark for the exercises.
  double counts_percent = 0;           ///< Share for bytes, steps and passes compared with a bound.
  double report_percent = 0;           ///< Share for the written part.
};

/// @param root  The project's root. @throws FormatError  The file is invalid, or names an unknown exercise. (A release
/// for students may lack some.)
[[nodiscard]] std::vector<Lab> read_labs(const std::filesystem::path& root,
                                         const std::vector<exercise::Exercise>& catalogue);

/// The exercises of a lab, or the named ones, or all; in catalogue order.
/// @param lab  0: none. @param words  Exercises as a user names them.
/// @throws UsageError  No such lab or exercise, or the lab has no exercises here.
[[nodiscard]] std::vector<exercise::Exercise> chosen_exercises(const std::filesystem::path& root,
                                                               const std::vector<exercise::Exercise>& catalogue,
                                                               int lab, const std::vector<std::string>& words);

}  // namespace lockstep::grading
