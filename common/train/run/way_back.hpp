#pragma once
/// @file
/// How to continue after training has diverged.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "run/run_options.hpp"

namespace lockstep::run {

/// The state of a run when a loss or gradient is not finite.
struct Divergence {
  std::filesystem::path run_folder;  ///< Contains the checkpoints.
  std::int64_t first_step = 0;       ///< Steps done when this process began; it has done the later ones.
  std::int64_t step = 0;             ///< Steps done now. This step's update may have spoiled the weights.
  bool is_step_validated = false;    ///< A finite validation loss was measured after that update.
  int world_size = 1;                ///< Ranks of the run.
  int local_world_size = 1;          ///< Ranks on this host.
};

/// The newest checkpoint known to be sound: a later training step or a validation had a finite loss. Nothing if there
/// is none on this rank's disk, or if the disk cannot be read.
[[nodiscard]] std::optional<std::filesystem::path> last_sound_checkpoint(const Divergence& divergence,
                                                                         const CheckpointOptions& options) noexcept;

/// The end of an error message: names that checkpoint and the command that continues from it at half the learning rate,
/// or says that there is none.
[[nodiscard]] std::string way_back(const Divergence& divergence, const RunOptions& options);

/// "not a number" or "infinite". @pre  Not finite.
[[nodiscard]] const char* describe_infinite(double value) noexcept;

}  // namespace lockstep::run
