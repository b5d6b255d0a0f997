#pragma once
/// @file
/// A training run as a checkpoint: weights, optimizer, sampler, step.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "data/sampler.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::run {

/// Saves a checkpoint of step `step` in `checkpoints`, atomically.
/// @param options  As to_json(TrainOptions) gives them: what is needed to build the model again.
/// @return         The checkpoint's folder.
/// @throws IoError  The disk failed; earlier checkpoints are untouched.
std::filesystem::path save_training(const std::filesystem::path& checkpoints, std::int64_t step,
                                    const nn::Module& model, const optim::Optimizer& optimizer,
                                    const data::Sampler& sampler, const nlohmann::json& options);

/// Fills model, optimizer and sampler from the newest checkpoint that verifies.
/// @return  Its step.
/// @throws IoError, FormatError  There is none, or it does not fit the model or the text.
[[nodiscard]] std::int64_t load_training(const std::filesystem::path& checkpoints, nn::Module& model,
                                         optim::Optimizer& optimizer, data::Sampler& sampler);

/// Fills the model alone.
/// @param path  A checkpoint, or a run folder (then its newest checkpoint).
/// @throws IoError, FormatError  As load_training().
void load_model(const std::filesystem::path& path, nn::Module& model);

/// The options saved with a checkpoint. @param path  As load_model().
[[nodiscard]] nlohmann::json load_options(const std::filesystem::path& path);

/// Writes the weights alone as a safetensors file. @throws IoError
void export_weights(const std::filesystem::path& path, const nn::Module& model);

}  // namespace lockstep::run
