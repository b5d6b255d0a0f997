#pragma once
/// @file
/// Where a training that has diverged can go on.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "run/run_options.hpp"

namespace lockstep::run {

/// What is known where a loss or a gradient is not finite.
struct Divergence {
  std::filesystem::path run_folder;  ///< With the checkpoints.
  std::int64_t first_step = 0;       ///< Steps done when this process began: later ones are its own.
  std::int64_t step = 0;             ///< Steps done now. The update of this step may have spoiled the weights.
  bool is_step_validated = false;    ///< After that update a validation loss was measured, and it is finite.
  int world_size = 1;                ///< Ranks of the run.
  int local_world_size = 1;          ///< Those of this host.
};

/// The newest checkpoint with which a finite loss was measured: that of a later training step, or a validation loss.
/// Nothing if there is none on this rank's disk, or if the disk cannot be read.
[[nodiscard]] std::optional<std::filesystem::path> last_sound_checkpoint(const Divergence& divergence,
                                                                         const CheckpointOptions& options) noexcept;

/// How to go on, for the end of a message: names that checkpoint and the command that continues from it at half the
/// learning rate, or says that there is none.
[[nodiscard]] std::string way_back(const Divergence& divergence, const RunOptions& options);

/// "not a number" or "infinite". @pre  Not finite.
[[nodiscard]] const char* describe_infinite(double value) noexcept;

}  // namespace lockstep::run
