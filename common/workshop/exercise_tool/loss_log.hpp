#pragma once
/// @file
/// The losses in a run's metrics.jsonl.
#include <filesystem>
#include <vector>

namespace lockstep::exercise {

/// One step of a run.
struct LoggedStep {
  double loss = 0;          ///< NaN where it was not finite.
  double tokens_per_s = 0;  ///< 0 where the file does not say.
};

/// The steps of a run as far as they can be read; of others a warning tells. None if there is no such file.
/// @param run  Its folder.
[[nodiscard]] std::vector<LoggedStep> read_loss_log(const std::filesystem::path& run);

}  // namespace lockstep::exercise
