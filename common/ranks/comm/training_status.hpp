#pragma once
/// @file
/// How far a rank's training is, in a file beside its flight record: for whoever watches a job that runs.
#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::comm {

/// What a rank says of itself after each step.
struct TrainingStatus {
  std::int32_t rank = 0;               ///< Of the job.
  std::int32_t generation = 0;         ///< Restart count of the job.
  std::int64_t step = 0;               ///< Updates done.
  std::int64_t last_step = 0;          ///< Updates of the whole training.
  std::int64_t step_ns = 0;            ///< What the last step took.
  std::int64_t steps_ns = 0;           ///< What all steps of this process took.
  std::int64_t exposed_ns = 0;         ///< Of that, waiting for other ranks with nothing else to do.
  std::int64_t peak_memory_bytes = 0;  ///< Of the device, or of the process where that is the CPU.
  double loss = 0;                     ///< Of the last step, over the global batch.
  std::int64_t written_ns = 0;         ///< When, on the steady clock, as in FlightEntry. Set by write().
};

/// Keeps the newest status of a rank in a file, which outlives the rank. Thread safety: one thread at a time.
class TrainingStatusFile {
 public:
  /// Makes (or replaces) rank3.status in `folder` for rank 3. @throws IoError  The file cannot be made.
  TrainingStatusFile(const std::string& folder, int rank);

  /// One small write to a file in memory or on a local disk; one that fails is left out: a training does not end for
  /// it.
  void write(TrainingStatus status) noexcept;

 private:
  UniqueFd fd_;
  std::uint64_t number_ = 0;
};

/// The newest status of a rank, also while it runs; nothing where it has written none.
/// @throws FormatError  The file is none of this build's.
[[nodiscard]] std::optional<TrainingStatus> read_training_status(const std::string& folder, int rank);

}  // namespace lockstep::comm
