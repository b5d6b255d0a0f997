#include "run/train_options.hpp"

#include <nlohmann/json.hpp>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "data/corpus.hpp"
#include "run/optimization.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescription =
    "Trains a GPT on a text and leaves a run folder: checkpoints, metrics.jsonl, report.html.";

// Set by a launcher: the device for programs without --device. `lockstep launch` searches a program's file for the
// name: `used` keeps it there as one string.
[[gnu::used]] constexpr char kDeviceVariable[] = "LOCKSTEP_DEVICE";

void make_absolute(fs::path& path) {
  if (!path.empty()) path = fs::absolute(path).lexically_normal();
}

void complete_data(TrainOptions& options) {
  if (options.data.tokenizer.empty()) options.data.tokenizer = data::usual_tokenizer(options.data.path);
  if (options.data.path != data::kRandomData) make_absolute(options.data.path);
  make_absolute(options.data.validation_path);
  if (const std::string file = data::parse_tokenizer_spec(options.data.tokenizer).file; !file.empty()) {
    options.data.tokenizer = fs::absolute(file).lexically_normal().string();
  }
  const bool is_usual_prompt = options.text.prompt == TextOptions().prompt;
  if (options.data.tokenizer == "numbers" && is_usual_prompt) options.text.prompt = "0";  // it has no letters
}

}  // namespace

nn::GptConfig TrainOptions::model_config(std::int64_t vocabulary) const {
  nn::GptConfig config = nn::GptConfig::named(model.name);
  if (vocabulary == 0) vocabulary = data.vocabulary_size;
  if (vocabulary > 0) config.vocabulary_size = vocabulary;
  config.dropout = model.dropout;
  config.activation_checkpointing = model.activation_checkpointing;
  return config;
}

void complete(TrainOptions& options, const CommandLine& line) {
  require_sound_optimizer(line, options.optimizer);
  if (options.batch_size == 0) options.batch_size = nn::GptConfig::named(options.model.name).batch_size;
  complete(static_cast<RunOptions&>(options), line);
  complete_data(options);
}

ParsedTrainOptions parse_train_options(int argc, const char* const* argv) {
  TrainOptions defaults;
  defaults.device.name = environment::get(kDeviceVariable).value_or(defaults.device.name);
  return parse_options(argc, argv, kDescription, defaults);
}

int run_training(int argc, const char* const* argv, const std::function<int(const TrainOptions&)>& train) noexcept {
  return run_training(argc, argv, TrainOptions(), train);
}

int run_training(int argc, const char* const* argv, const TrainOptions& defaults,
                 const std::function<int(const TrainOptions&)>& train) noexcept {
  return run_training(argc, argv, kDescription, defaults, train);
}

TrainOptions options_from_json(const nlohmann::json& json) {
  TrainOptions options;
  read_json(json, list_options(options));
  return options;
}

}  // namespace lockstep::run
