#pragma once
/// @file
/// Requests to train with a learner's own files: the words after run, and which trainer they mean.
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::exercise {

struct Exercise;
struct Workspace;

/// A trainer in which files of exercises can do parts of the work.
struct MineTrainer {
  std::string_view chapter;                ///< "06"
  std::string_view program;                ///< Its target.
  std::span<const char* const> exercises;  ///< Whose files it can use.
};

struct MineRequest {
  MineTrainer trainer;
  std::string nproc = "2";
  std::vector<std::string> options{};  ///< For the trainer.
};

/// Reads "06 --mine --nproc 3 --steps 100", in any order; a "--" changes nothing. Without --steps and --epochs the
/// trainer takes 60 steps, and without --sample-tokens it writes no text.
/// @throws UsageError  The chapter has no such trainer; or an option that the command chooses itself, or that the
///                     exercises do not support.
[[nodiscard]] MineRequest parse_mine_request(const std::vector<std::string>& words);

/// The trainer's exercises whose files have passed as they are now.
/// @param remarks  Gets a line about files that have been changed since, if there are some.
/// @throws UsageError  None has.
[[nodiscard]] std::vector<const Exercise*> passed_exercises(const Workspace& workspace, const MineTrainer& trainer,
                                                            std::ostream& remarks);

}  // namespace lockstep::exercise
