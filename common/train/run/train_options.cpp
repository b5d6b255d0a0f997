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

void complete_data(DataOptions& data) {
  if (data.tokenizer.empty()) data.tokenizer = data::usual_tokenizer(data.path);
  if (data.path != data::kRandomData) make_absolute(data.path);
  make_absolute(data.validation_path);
  fs::path file = data::parse_tokenizer_spec(data.tokenizer).file;
  make_absolute(file);
  if (!file.empty()) data.tokenizer = file.string();
}

}  // namespace

nn::GptConfig ModelOptions::config(std::int64_t vocabulary_size) const {
  nn::GptConfig config = nn::GptConfig::named(name);
  if (vocabulary_size > 0) config.vocabulary_size = vocabulary_size;
  config.dropout = dropout;
  config.activation_checkpointing = activation_checkpointing;
  return config;
}

void complete(TrainOptions& options, const CommandLine& line) {
  require_sound_optimizer(line, options.optimizer);
  if (options.batch_size == 0) options.batch_size = nn::GptConfig::named(options.model.name).batch_size;
  complete(static_cast<RunOptions&>(options), line);
  complete_data(options.data);
  const bool is_usual_prompt = options.text.prompt == TextOptions().prompt;
  if (options.data.tokenizer == "numbers" && is_usual_prompt) options.text.prompt = "0";  // it has no letters
}

std::string launched_device(std::string otherwise) {
  return environment::get(kDeviceVariable).value_or(std::move(otherwise));
}

int run_training(int argc, const char* const* argv, const std::function<int(const TrainOptions&)>& train) noexcept {
  return run_training(argc, argv, TrainOptions(), train);
}

int run_training(int argc, const char* const* argv, TrainOptions defaults,
                 const std::function<int(const TrainOptions&)>& train) noexcept {
  defaults.device.name = launched_device(std::move(defaults.device.name));
  return run_training(argc, argv, kDescription, defaults, train);
}

TrainOptions options_from_json(const nlohmann::json& json) {
  TrainOptions options;
  read_json(json, list_options(options));
  return options;
}

}  // namespace lockstep::run
