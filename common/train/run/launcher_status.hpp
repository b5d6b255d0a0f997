#pragma once
/// @file
/// What the launcher of a rank can see of its training.
#include <cstdint>
#include <optional>

#include "comm/training_status.hpp"
#include "run/metrics.hpp"
#include "run/ranks.hpp"

namespace lockstep::run {

/// Keeps a status file for the launcher up to date, in the folder LOCKSTEP_FLIGHT_DIR. Does nothing without a launcher.
/// Thread safety: none.
class LauncherStatus {
 public:
  LauncherStatus(const Ranks& ranks, std::int64_t last_step);

  /// Adds a finished step. Ignores write errors.
  void write(const StepMetrics& step);

 private:
  int rank_;  // in the run's group; status_ has the rank in the job
  comm::TrainingStatus status_;
  std::optional<comm::TrainingStatusFile> file_;
};

}  // namespace lockstep::run
