#pragma once
/// @file
/// The exercises as they are on disk: exercises/CHAPTER/K_NAME/, with exercise.json, TASK.md, hints.md, the given
/// header and the templates.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::exercise {

/// One exercise.
struct Exercise {
  std::string id;                         ///< "02.1"; never changes.
  std::string chapter;                    ///< "02_ring_all_reduce"
  std::string name;                       ///< "1_reduce_scatter"
  std::string title;                      ///< "Reduce-scatter on a ring"
  std::string difficulty;                 ///< easy, medium or hard.
  int minutes = 0;                        ///< That a learner needs.
  double points = 0;                      ///< In a class.
  std::vector<std::string> files;         ///< That a learner edits.
  bool needs_emulator = false;            ///< "needs": "emulator": builds for a GPU leave it out.
  std::map<std::string, double> weights;  ///< Of checks, by their names; a check that is not here weighs what the judge
                                          ///< says, which is 1 unless it says otherwise.
  std::string template_verdict;           ///< Of the template: TODO, or what is to be mended (HANG, WRONG).

  /// "02.1_reduce_scatter": the name of its folder in work/.
  [[nodiscard]] std::string work_name() const;
  /// "02_1": for names of targets.
  [[nodiscard]] std::string target_name() const;
  /// Whether a learner writes kernels: a file ends in .cu.
  [[nodiscard]] bool has_kernels() const;
  /// Of exercises/, solutions/ or tests/exercises/.
  [[nodiscard]] std::filesystem::path in(const std::filesystem::path& folder) const { return folder / chapter / name; }
};

/// All exercises in the order of their numbers.
/// @param root  The project's. @throws FormatError  An exercise.json is not as it must be; names file and entry.
[[nodiscard]] std::vector<Exercise> read_catalogue(const std::filesystem::path& root);

/// The exercise that a user means: "02.1", "2.1", "02.1_reduce_scatter" or "reduce_scatter".
/// @throws UsageError  There is none; names the nearest.
[[nodiscard]] const Exercise& find_exercise(const std::vector<Exercise>& catalogue, const std::string& word);

/// The hints of an exercise, each a few lines of text, from general to particular: what stands between the `##`
/// headings of hints.md. @throws IoError  There is no such file.
[[nodiscard]] std::vector<std::string> read_hints(const std::filesystem::path& root, const Exercise& exercise);

}  // namespace lockstep::exercise
