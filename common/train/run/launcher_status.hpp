#pragma once
/// @file
/// What the launcher of a rank can see of its training.
#include <cstdint>
#include <optional>

#include "comm/training_status.hpp"
#include "run/metrics.hpp"
#include "run/ranks.hpp"

namespace lockstep::run {

/// Keeps the status file up to date that a launcher watches, in the folder LOCKSTEP_FLIGHT_DIR; if there is no
/// launcher, does nothing. Thread safety: none.
class LauncherStatus {
 public:
  /// @throws IoError  The file cannot be made.
  LauncherStatus(const Ranks& ranks, std::int64_t last_step);

  /// Adds a step that has ended. What cannot be written is left out.
  void write(const StepMetrics& step);

 private:
  int rank_;  // in the run's group; status_ has that in the job
  comm::TrainingStatus status_;
  std::optional<comm::TrainingStatusFile> file_;
};

}  // namespace lockstep::run
