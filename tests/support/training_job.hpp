#pragma once
/// @file
/// A text and the runs of training programs on it, with processes as ranks.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "run/metrics.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::test {

/// How a job is started, beside the options of its program.
struct LaunchSettings {
  std::vector<std::string> options = {};                            ///< Of `lockstep launch`.
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< Of the environment.
};

/// A folder with a text of 4000 words, and the run that `lockstep launch` has made there, in batches of 12 samples with
/// dropout, without validation, text sample, or checkpoint but the last. Options given later override these.
class TrainingJob {
 public:
  TrainingJob();

  /// @param program  Its path. @param options  Of the program.
  [[nodiscard]] Finished train(const std::string& program, int world_size, const std::vector<std::string>& options,
                               const LaunchSettings& launch = {}) const;

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  /// The folder of the one run.
  [[nodiscard]] std::filesystem::path run() const;
  /// By step.
  [[nodiscard]] std::vector<run::StepMetrics> metrics() const;
  [[nodiscard]] std::vector<double> losses() const;
  [[nodiscard]] std::vector<double> gradient_norms() const;
  /// The content of a file of the checkpoint of step 4.
  [[nodiscard]] std::string file(const std::string& name) const;

 private:
  TemporaryFolder folder_;
};

/// Runs a training program as rank 0 of so many ranks of mpirun. It only checks its options.
[[nodiscard]] Finished check_options_under_mpirun(const std::vector<std::string>& command, int world_size);

/// Fails the test, with what the program has printed, unless it ended with 0.
void require_success(const Finished& finished);

/// Checks that two runs have the same losses with all their digits, and the same tensors in the checkpoint of step 4,
/// bit for bit.
void check_equal(const TrainingJob& found, const TrainingJob& expected);

}  // namespace lockstep::test
