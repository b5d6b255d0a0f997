#pragma once
/// @file
/// Training runs in which code of exercises does parts of the work, as in `./lockstep run NN --mine`, and the same runs
/// of the chapters' own trainers.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/training_job.hpp"

namespace lockstep::exercise {

using Job = test::TrainingJob;
using Options = std::vector<std::string>;

/// The path of "train_gpt_sharded_solutions".
inline std::string mine_program(const std::string& name) {
  return std::string(LOCKSTEP_EXERCISE_PROGRAMS) + "/" + name;
}

/// @param program  See mine_program(). @param files  "09.2=1111": whose files are the learner's, with a fingerprint.
/// @param variant  A mistake, or an unusual right answer, if the program has them in the place of these files.
inline test::Finished train_mine(const Job& job, const std::string& program, int world_size, const Options& options,
                                 const std::string& files, const std::string& variant = "") {
  return job.train(mine_program(program), world_size, options,
                   {.variables = {{"LOCKSTEP_MINE", files}, {"LOCKSTEP_VARIANT", variant}}});
}

/// Four steps of a chapter's own trainer. @param program  "train_gpt_sharded".
inline void train_ours(const Job& job, const std::string& program, int world_size, const Options& options) {
  test::require_success(job.train(test::built_program(program), world_size, options));
  REQUIRE(job.losses().size() == 4);
}

/// The same losses, norms and checkpoints, bit for bit.
inline void check_same_run(const Job& found, const Job& expected) {
  CHECK(found.gradient_norms() == expected.gradient_norms());
  test::check_equal(found, expected);
}

}  // namespace lockstep::exercise
