#include "08_accelerate/process/memory_estimate.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/nearest_match.hpp"
#include "nn/training_memory.hpp"
#include "pretrained/gpt2_config.hpp"
#include "pretrained/language_model.hpp"
#include "run/train_options.hpp"
#include "run/training_state.hpp"

namespace lockstep::accelerate {
namespace fs = std::filesystem;
namespace {

nn::GptConfig published(const char* name, std::int64_t channels, std::int64_t heads, std::int64_t layers) {
  return {.name = name,
          .vocabulary_size = 50257,
          .channels = channels,
          .head_count = heads,
          .layer_count = layers,
          .context_length = 1024,
          .batch_size = 1};
}

nn::GptConfig sizes_in_folder(const fs::path& folder) {
  if (pretrained::is_hugging_face_folder(folder)) {
    const fs::path file = folder / pretrained::kConfigFile;
    nn::GptConfig config = pretrained::parse_gpt2_config(read_file(file), file);
    config.batch_size = 1;
    return config;
  }
  const run::TrainOptions trained = run::options_from_json(run::load_options(folder));
  nn::GptConfig config = trained.model.config(trained.data.vocabulary_size);
  config.batch_size = trained.batch_size;
  return config;
}

std::vector<std::string> known_names() {
  std::vector<std::string> names = nn::GptConfig::names();
  for (const PublishedModel& model : published_models()) {
    if (std::ranges::find(names, model.name) == names.end()) names.push_back(model.name);
    names.push_back(model.full_name);
  }
  return names;
}

}  // namespace

const std::vector<PublishedModel>& published_models() {
  static const std::vector<PublishedModel> kModels = {{"124m", "gpt2", published("124m", 768, 12, 12)},
                                                      {"350m", "gpt2-medium", published("350m", 1024, 16, 24)},
                                                      {"774m", "gpt2-large", published("774m", 1280, 20, 36)},
                                                      {"1.5b", "gpt2-xl", published("1.5b", 1600, 25, 48)}};
  return kModels;
}

nn::GptConfig find_model_sizes(const std::string& model) {
  for (const std::string& name : nn::GptConfig::names()) {
    if (name == model) return nn::GptConfig::named(name);
  }
  for (const PublishedModel& known : published_models()) {
    if (known.name == model || known.full_name == model) return known.config;
  }
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) return sizes_in_folder(model);
  std::string list;
  const std::vector<std::string> names = known_names();
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  const std::string meant = did_you_mean(model, names);
  throw UsageError(concat("there is no model and no folder '", model, "'", meant.empty() ? "." : meant,
                          " The models are ", list, "; a folder holds a config.json, a run or a checkpoint"));
}

RankMemory estimate_memory(const EstimateRequest& request, plan::Sharding sharding) {
  const nn::TrainingMemory use = nn::training_memory({.config = request.config,
                                                      .batch_size = request.batch_size,
                                                      .context = request.context,
                                                      .is_half = request.is_half,
                                                      .ranks = request.world_size,
                                                      .stage = static_cast<int>(sharding)});
  RankMemory memory{.values = use.values,
                    .half_values = use.half_values,
                    .gradients = use.gradients,
                    .moments = use.moments,
                    .units = use.whole_values + use.whole_gradients,
                    .activations = use.activations + use.logits};
  // Products read the copy, so only the optimizer needs the float32 values, which could be split with its moments.
  const bool is_split = sharding == plan::Sharding::kOptimizer || sharding == plan::Sharding::kGradients;
  if (request.is_half && is_split) memory.values /= request.world_size;
  return memory;
}

}  // namespace lockstep::accelerate
