#pragma once
/// @file
/// state.json of a training checkpoint: everything that resuming needs beside tensors.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/sampler.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::run {

/// Where a training stands.
struct SavedState {
  std::int64_t step = 0;              ///< Updates done.
  optim::StepCounts optimizer_steps;  ///< For Adam's bias correction.
  data::SamplerState sampler;         ///< Which samples come next. Does not depend on the number of ranks.
  nlohmann::json kept = nullptr;      ///< What the program keeps beside (Run::keep()), by name; null: nothing.
  nlohmann::json options;             ///< As to_json() gives them.
};

/// {"optimizer_steps", and "fewer_optimizer_steps" where some parameters have had fewer}.
[[nodiscard]] nlohmann::json to_json(const optim::StepCounts& counts);
/// @param path  Of the file, for the message. @throws FormatError  Not what to_json() makes; names the entry.
[[nodiscard]] optim::StepCounts step_counts_from(const nlohmann::json& json, const std::filesystem::path& path);

/// An object with the members of the state.
[[nodiscard]] nlohmann::json to_json(const data::SamplerState& state);
/// @param path  Of the file, for the message. @throws FormatError  Not what to_json() makes; names the entry.
[[nodiscard]] data::SamplerState sampler_state_from(const nlohmann::json& json, const std::filesystem::path& path);

/// For state.json.
[[nodiscard]] nlohmann::json to_json(const SavedState& state);

/// @param path  Of the file, for the message.
/// @throws FormatError  Not what to_json() makes; names the entry.
[[nodiscard]] SavedState saved_state_from(const nlohmann::json& json, const std::filesystem::path& path);

}  // namespace lockstep::run
