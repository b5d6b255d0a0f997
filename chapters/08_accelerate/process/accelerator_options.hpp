#pragma once
/// @file
/// The options of an Accelerator.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "06_gpt_ddp/ddp/options.hpp"
#include "08_accelerate/process/partial_state.hpp"
#include "base/mixed_precision.hpp"
#include "optim/grad_scaler.hpp"

namespace lockstep::accelerate {

/// Accelerate's options and defaults; equal on all ranks.
struct AcceleratorOptions {
  ProcessOptions process{};
  /// Precision of autocast(); unset: the launcher's choice (LOCKSTEP_MIXED_PRECISION), else kNo.
  std::optional<MixedPrecision> mixed_precision{};
  std::int64_t gradient_accumulation_steps = 1;  ///< Micro-batches whose gradients add up to one step.
  bool split_batches = false;  ///< Whether a loader's batch size is the total over all ranks; else each rank's.
  bool even_batches = true;  ///< Whether loaders that keep the last batch repeat samples until ranks have equally many.
  bool device_placement = true;  ///< Whether prepared loaders hand out batches on the device; else in host memory.
  std::uint64_t seed = 0;        ///< For random().
  ddp::DdpOptions ddp{};
  /// How to scale losses; the accelerator sets any_rank. Unset: kFp16 scales by the defaults, others do not scale.
  std::optional<optim::GradScalerOptions> grad_scaler{};
  std::filesystem::path project_dir = ".";  ///< Checkpoints are kept in its folder "checkpoints".
  int total_limit = 0;                      ///< Checkpoints to keep; 0: all.
  std::vector<std::string> log_with{};      ///< Trackers that init_trackers() makes: see run::make_tracker().
};

}  // namespace lockstep::accelerate
