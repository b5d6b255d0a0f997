#pragma once
/// @file
/// The losses in a run's metrics.jsonl.
#include <filesystem>
#include <vector>

namespace lockstep::exercise {

/// One step of a run.
struct LoggedStep {
  double loss = 0;          ///< NaN if it was not finite.
  double tokens_per_s = 0;  ///< 0 if the file has no value.
};

/// The readable steps of a run; warns about the others. None if there is no such file.
/// @param run  The run's folder.
[[nodiscard]] std::vector<LoggedStep> read_loss_log(const std::filesystem::path& run);

}  // namespace lockstep::exercise
