#pragma once
/// @file
/// What every pair of programs owes: the distributed one trains the same model as the single one it derives from.
#include <string>
#include <vector>

#include "support/subprocess.hpp"

namespace lockstep::test {

/// Runs a program once per rank, each in a process of its own with a rank's environment, and waits for all.
/// @return  By rank.
[[nodiscard]] std::vector<Finished> run_on_ranks(int world_size, const std::string& program,
                                                 const std::vector<std::string>& arguments = {});

/// Where a program leaves its losses.
enum class LossesIn {
  kOutput,     ///< It prints "step 1 loss 2.30258512" per step.
  kRunFolder,  ///< It takes the options of common/train/run, and its run folder has a metrics.jsonl.
};

/// Checks that `distributed`
///   - has exactly the losses of `single`, as a group of one rank and when started without a launcher;
///   - at world sizes 2, 3 and 4 with the same global batch gives losses that differ by at most `tolerance` times the
///     first loss, from rank 0 alone;
///   - with another seed differs by at least 1000 times as much: the comparison can fail;
///   - refuses a batch that does not divide among the ranks.
void check_pair(const std::string& single, const std::string& distributed, double tolerance,
                LossesIn where = LossesIn::kOutput);

}  // namespace lockstep::test
