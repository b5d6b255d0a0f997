#pragma once
/// @file
/// A training that stands where the loss is finite and its gradient is not.
#include <filesystem>

namespace lockstep::test {

/// Saves the newest checkpoint of a stopped training once more, with weights that give the same predictions up to the
/// scale of the last scores, and a gradient beyond float32.
/// @param run  The folder of a run of train_gpt_single or train_gpt_ddp.
void make_gradient_infinite(const std::filesystem::path& run);

}  // namespace lockstep::test
