#include "run/training_state.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

std::vector<checkpoint::NamedTensor> tensors_of(const nn::Module& model) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    tensors.push_back({named.name, named.parameter.value()});
  }
  return tensors;
}

std::vector<checkpoint::NamedTensor> tensors_of(const optim::Optimizer& optimizer) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (const optim::NamedTensor& named : optimizer.state()) tensors.push_back({named.name, named.tensor});
  return tensors;
}

nlohmann::json to_json(const data::SamplerState& state) {
  return {
      {"seed", state.seed}, {"epoch", state.epoch}, {"consumed", state.consumed}, {"dataset_size", state.dataset_size}};
}

data::SamplerState sampler_state_from(const nlohmann::json& json) {
  return {.seed = json.at("seed"),
          .epoch = json.at("epoch"),
          .consumed = json.at("consumed"),
          .dataset_size = json.at("dataset_size")};
}

// The checkpoint that `path` is, or the newest one below it.
std::filesystem::path newest_checkpoint(const std::filesystem::path& path) {
  if (std::filesystem::exists(path / "state.json")) return path;
  const auto root = std::filesystem::is_directory(checkpoints_of(path)) ? checkpoints_of(path) : path;
  const auto latest = checkpoint::CheckpointFolder(root).latest();
  if (!latest) throw IoError(concat("no checkpoint in ", path.string(), ": name a run folder or a checkpoint"));
  return *latest;
}

}  // namespace

std::filesystem::path save_training(const std::filesystem::path& checkpoints, std::int64_t step,
                                    const nn::Module& model, const optim::Optimizer& optimizer,
                                    const data::Sampler& sampler, const nlohmann::json& options) {
  const nlohmann::json state{{"step", step},
                             {"optimizer_steps", optimizer.step_count()},
                             {"sampler", to_json(sampler.state())},
                             {"options", options}};
  return checkpoint::CheckpointFolder(checkpoints)
      .save(step, {.model = tensors_of(model), .optimizer = tensors_of(optimizer)}, state);
}

std::int64_t load_training(const std::filesystem::path& checkpoints, nn::Module& model, optim::Optimizer& optimizer,
                           data::Sampler& sampler) {
  const std::filesystem::path newest = newest_checkpoint(checkpoints);
  const nlohmann::json state =
      checkpoint::load(newest, {.model = tensors_of(model), .optimizer = tensors_of(optimizer)});
  try {
    optimizer.set_step_count(state.at("optimizer_steps"));
    sampler.load_state(sampler_state_from(state.at("sampler")));
    return state.at("step");
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(newest.string(), "/state.json: ", error.what()));
  }
}

void load_model(const std::filesystem::path& path, nn::Module& model) {
  (void)checkpoint::load(newest_checkpoint(path), {.model = tensors_of(model), .optimizer = {}});
}

nlohmann::json load_options(const std::filesystem::path& path) {
  const std::filesystem::path newest = newest_checkpoint(path);
  const nlohmann::json state = checkpoint::load_state(newest);
  if (!state.contains("options")) throw FormatError(concat(newest.string(), "/state.json: no options"));
  return state["options"];
}

void export_weights(const std::filesystem::path& path, const nn::Module& model) {
  checkpoint::write_safetensors(path, tensors_of(model));
}

}  // namespace lockstep::run
