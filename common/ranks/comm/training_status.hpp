#pragma once
/// @file
/// A rank's training progress, in a file next to its flight record, for tools that watch a running job.
#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::comm {

/// A rank's report after each step.
struct TrainingStatus {
  std::int32_t rank = 0;               ///< In the job.
  std::int32_t generation = 0;         ///< Restart count of the job.
  std::int64_t step = 0;               ///< Updates done.
  std::int64_t last_step = 0;          ///< Updates in the whole training run.
  std::int64_t step_ns = 0;            ///< Duration of the last step.
  std::int64_t steps_ns = 0;           ///< Duration of all steps of this process.
  std::int64_t exposed_ns = 0;         ///< Part of it spent idle, waiting for other ranks.
  std::int64_t peak_memory_bytes = 0;  ///< Of the device, or of the process if it is the CPU.
  double loss = 0;                     ///< Of the last step, over the global batch.
  std::int64_t written_ns = 0;         ///< Steady clock, as in FlightEntry. Set by write().
};

/// Keeps the newest status of a rank in a file, which outlives the rank. Thread safety: one thread at a time.
class TrainingStatusFile {
 public:
  /// Makes (or replaces) rank3.status in `folder` for rank 3. @throws IoError  The file cannot be made.
  TrainingStatusFile(const std::string& folder, int rank);

  /// One small write to a local file. A failed write is ignored, so that it does not stop the training run.
  void write(TrainingStatus status) noexcept;

 private:
  UniqueFd fd_;
  std::uint64_t number_ = 0;
};

/// The newest status of a rank, which may still be running; empty if it has written none.
/// @throws FormatError  The file was not written by this build.
[[nodiscard]] std::optional<TrainingStatus> read_training_status(const std::string& folder, int rank);

}  // namespace lockstep::comm
