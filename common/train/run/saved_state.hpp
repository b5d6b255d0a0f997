#pragma once
/// @file
/// state.json of a training checkpoint: everything except tensors that is needed to resume.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/sampler.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::run {

/// The progress of a training run.
struct SavedState {
  std::int64_t step = 0;              ///< Updates done.
  optim::StepCounts optimizer_steps;  ///< For Adam's bias correction.
  data::SamplerState sampler;         ///< Determines the next samples. Does not depend on the number of ranks.
  nlohmann::json kept = nullptr;      ///< The program's additional state (Run::keep()), by name; null: none.
  nlohmann::json options;             ///< From to_json().
};

/// {"optimizer_steps", and "fewer_optimizer_steps" if some parameters have had fewer}.
[[nodiscard]] nlohmann::json to_json(const optim::StepCounts& counts);
/// @param path  Of the file, for the message. @throws FormatError  Not written by to_json(); names the entry.
[[nodiscard]] optim::StepCounts step_counts_from(const nlohmann::json& json, const std::filesystem::path& path);

/// An object with the members of the state.
[[nodiscard]] nlohmann::json to_json(const data::SamplerState& state);
/// @param path  Of the file, for the message. @throws FormatError  Not written by to_json(); names the entry.
[[nodiscard]] data::SamplerState sampler_state_from(const nlohmann::json& json, const std::filesystem::path& path);

/// For state.json.
[[nodiscard]] nlohmann::json to_json(const SavedState& state);

/// @param path  Of the file, for the message.
/// @throws FormatError  Not written by to_json(); names the entry.
[[nodiscard]] SavedState saved_state_from(const nlohmann::json& json, const std::filesystem::path& path);

}  // namespace lockstep::run
