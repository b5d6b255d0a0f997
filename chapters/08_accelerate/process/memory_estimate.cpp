#include "08_accelerate/process/memory_estimate.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/nearest_match.hpp"
#include "kernels/loss.hpp"
#include "nn/gpt_parameters.hpp"
#include "pretrained/gpt2_config.hpp"
#include "pretrained/language_model.hpp"
#include "run/train_options.hpp"
#include "run/training_state.hpp"

namespace lockstep::accelerate {
namespace fs = std::filesystem;
namespace {

constexpr double kFloatBytes = 4, kHalfBytes = 2;

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
  nn::GptConfig config = trained.model_config();
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

void require_valid(const EstimateRequest& request, std::int64_t context) {
  nn::require_valid(request.config);
  require(request.world_size >= 1, "estimate_memory: a job has at least 1 rank, not ", request.world_size);
  require(request.batch_size >= 1, "estimate_memory: a batch has at least 1 sample, not ", request.batch_size);
  require(context >= 1 && context <= request.config.context_length, "estimate_memory: a context of ", context,
          " positions; the model sees 1 to ", request.config.context_length);
}

// Elements of the matrices that are rounded to 2 bytes for products: all weights but the norms' and the positions'.
double matrix_elements(const nn::GptConfig& config) {
  double count = 0;
  for (const nn::ParameterShape& parameter : nn::gpt_parameters(config)) {
    if (parameter.shape.rank() == 2 && parameter.name != "wpe.weight")
      count += static_cast<double>(parameter.shape.count());
  }
  return count;
}

// For the rows that the head computes at a time.
double logits_bytes(const nn::GptConfig& config, std::int64_t rows, bool is_half) {
  const DType dtype = is_half ? DType::kBFloat16 : DType::kFloat32;
  const std::int64_t held = kernels::rows_of_logits(rows, config.channels, config.vocabulary_size, dtype);
  return static_cast<double>(held * config.vocabulary_size) * static_cast<double>(bytes_of(dtype));
}

double activation_bytes(const EstimateRequest& request, std::int64_t context) {
  const nn::GptConfig& config = request.config;
  const double e = request.is_half ? kHalfBytes : kFloatBytes;
  const auto rows = static_cast<double>(request.batch_size * context);
  const auto channels = static_cast<double>(config.channels), layers = static_cast<double>(config.layer_count);
  // Per row. Each norm's statistics are two numbers, attention's are one per head.
  const double block = 12 * channels * e + kFloatBytes * static_cast<double>(4 + config.head_count);
  const double input = 2 * channels * e;  // of a block: the stream, and its norm or the pending addition
  const bool is_recomputed = config.activation_checkpointing;
  const double kept = layers * (is_recomputed ? input : block);
  const double last = input + kFloatBytes * 2;
  const double logits = logits_bytes(config, request.batch_size * context, request.is_half);
  const double behind_forward = rows * (kept + last + channels * e) + logits;  // with the last norm's gradient
  // In the MLP of the last block: the gradient of its 4 C, and the stream's. The activated 4 C replace the kept ones.
  const double in_backward = rows * (kept + (is_recomputed ? block : 0) + 5 * channels * e);
  return std::max(behind_forward, in_backward);
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
  const std::int64_t context = request.context == 0 ? request.config.context_length : request.context;
  require_valid(request, context);
  const plan::Model model{.parameters = static_cast<double>(nn::gpt_parameter_count(request.config))};
  const plan::MemoryUse use =
      plan::memory_use(model, {.precision = plan::Precision::kFloat32}, sharding, request.world_size);
  RankMemory memory{.values = use.weights,
                    .gradients = use.gradients,
                    .moments = use.optimizer,
                    .activations = activation_bytes(request, context)};
  if (!request.is_half) return memory;
  // Products read the copy, so only the optimizer uses the float32 values, which are split with its moments. Split
  // weights are rounded when they are gathered, without a lasting copy.
  if (sharding >= plan::Sharding::kOptimizer) memory.values = model.parameters * kFloatBytes / request.world_size;
  if (sharding != plan::Sharding::kWeights) memory.half_values = matrix_elements(request.config) * kHalfBytes;
  return memory;
}

}  // namespace lockstep::accelerate
