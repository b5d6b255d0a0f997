#pragma once
/// @file
/// How an Accelerator works.
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
  ProcessOptions process{};  ///< Device and backend.
  /// What autocast() does; unset: what the launcher has chosen (LOCKSTEP_MIXED_PRECISION), else kNo.
  std::optional<MixedPrecision> mixed_precision{};
  std::int64_t gradient_accumulation_steps = 1;  ///< Micro-batches whose gradients add up to one step.
  bool split_batches = false;  ///< Whether a loader's batch size is that of all ranks together; else each rank's.
  bool even_batches = true;    ///< Whether a loader that keeps its last batch repeats samples until ranks have as many.
  bool device_placement = true;  ///< Whether prepared loaders hand out batches on the device; else in host memory.
  std::uint64_t seed = 0;        ///< Of random().
  ddp::DdpOptions ddp{};         ///< How gradients are averaged.
  /// Scale losses so; any_rank is the accelerator's to set. Unset: kFp16 scales by the defaults, others do not scale.
  std::optional<optim::GradScalerOptions> grad_scaler{};
  std::filesystem::path project_dir = ".";  ///< Checkpoints are kept in its folder "checkpoints".
  int total_limit = 0;                      ///< How many checkpoints are kept; 0: all.
  std::vector<std::string> log_with{};      ///< Trackers that init_trackers() makes: see make_tracker().
};

}  // namespace lockstep::accelerate
