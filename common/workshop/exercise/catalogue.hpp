#pragma once
/// @file
/// The exercises as they are on disk: exercises/CHAPTER/K_NAME/, with exercise.json, TASK.md, hints.md, the given
/// header and the templates.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::exercise {

/// The numbers in a chapter from this one on belong to lecturers: no exercise of the course has or will have one.
inline constexpr int kFirstOfLecturers = 50;

struct Exercise {
  std::string id;       ///< "02.1"; never changes.
  std::string chapter;  ///< "02_ring_all_reduce"
  std::string name;     ///< "1_reduce_scatter"
  std::string title;    ///< "Reduce-scatter on a ring"
  std::string difficulty;
  int minutes = 0;                        ///< Time that a learner needs.
  double points = 0;                      ///< In a class.
  std::vector<std::string> files;         ///< Files that a learner edits.
  bool needs_emulator = false;            ///< "needs": "emulator"; builds for a GPU leave it out.
  std::map<std::string, double> weights;  ///< Points by check name, overriding the judge's (1 by default).
  std::string template_verdict;           ///< The template's verdict: TODO, or the fault to mend (HANG, WRONG).

  /// 1 for "02.1".
  [[nodiscard]] int number() const;
  /// True for an exercise that a lecturer has added: counts of the course leave it out.
  [[nodiscard]] bool is_lecturers() const { return number() >= kFirstOfLecturers; }
  /// "02.1_reduce_scatter": the name of its folder in work/.
  [[nodiscard]] std::string work_name() const;
  /// "02_1", for names of targets.
  [[nodiscard]] std::string target_name() const;
  /// True if a learner writes kernels: a file ends in .cu.
  [[nodiscard]] bool has_kernels() const;
  /// Its folder in exercises/, solutions/ or tests/exercises/.
  [[nodiscard]] std::filesystem::path in(const std::filesystem::path& folder) const { return folder / chapter / name; }
};

/// All exercises in the order of their numbers.
/// @param root  The project's root. @throws FormatError  An exercise.json is invalid; names file and entry.
[[nodiscard]] std::vector<Exercise> read_catalogue(const std::filesystem::path& root);

/// The exercise that a user means: "02.1", "2.1", "02.1_reduce_scatter" or "reduce_scatter".
/// @throws UsageError  No such exercise; names the nearest.
[[nodiscard]] const Exercise& find_exercise(const std::vector<Exercise>& catalogue, const std::string& word);

/// The hints of an exercise, from general to particular: the text under each `##` heading of hints.md. Each paragraph
/// and each item of a list is one line, which can be wrapped to any width.
/// @throws IoError  There is no such file.
[[nodiscard]] std::vector<std::string> read_hints(const std::filesystem::path& root, const Exercise& exercise);

}  // namespace lockstep::exercise
