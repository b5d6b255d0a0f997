#pragma once
/// @file
/// The test for every pair of programs: the distributed one trains the same model as the single-process one.
#include <string>
#include <vector>

#include "support/subprocess.hpp"

namespace lockstep::test {

/// Runs a program once per rank, each in its own process with a rank's environment, and waits for all.
/// @return  By rank.
[[nodiscard]] std::vector<Finished> run_on_ranks(int world_size, const std::string& program,
                                                 const std::vector<std::string>& arguments = {});

/// The place of a program's losses.
enum class LossesIn {
  kOutput,     ///< It prints "step 1 loss 2.30258512" per step.
  kRunFolder,  ///< It takes the options of common/train/run, and writes a metrics.jsonl in its run folder.
};

/// Checks that `distributed`
///  - has exactly the losses of `single`, as a group of one rank and when started without a launcher;
///  - at world sizes 2, 3 and 4 with the same global batch has losses, reported by rank 0 alone, that differ by at most
///    `tolerance` times the first loss;
///  - with another seed differs by at least 1000 times as much, which shows that the comparison can fail;
///  - refuses a batch that does not divide among the ranks.
void check_pair(const std::string& single, const std::string& distributed, double tolerance,
                LossesIn where = LossesIn::kOutput);

}  // namespace lockstep::test
