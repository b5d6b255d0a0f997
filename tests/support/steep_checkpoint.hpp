#pragma once
/// @file
/// A training state with a finite loss and an infinite gradient.
#include <filesystem>

namespace lockstep::test {

/// Rewrites the newest checkpoint of a stopped training run with weights that give the same predictions, up to the
/// scale of the final scores, but a gradient beyond float32.
/// @param run  The folder of a run of train_gpt_single or train_gpt_ddp.
void make_gradient_infinite(const std::filesystem::path& run);

}  // namespace lockstep::test
