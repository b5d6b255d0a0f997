#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {
namespace {

// Calls visit("name", member) for every option that options.json holds, so that reading and writing cannot disagree.
template <typename Options, typename Visit>
void for_each_option(Options& options, const Visit& visit) {
  visit("model", options.model);
  visit("device", options.device);
  visit("batch_size", options.batch_size);
  visit("steps", options.steps);
  visit("epochs", options.epochs);
  visit("seed", options.seed);
  visit("tokenizer", options.tokenizer);
  visit("vocabulary_size", options.vocabulary_size);
  visit("num_workers", options.num_workers);
  visit("tokenizer_checksum", options.tokenizer_checksum);
  visit("data_fingerprint", options.data_fingerprint);
  visit("optimizer", options.optimizer);
  visit("momentum", options.momentum);
  visit("nesterov", options.nesterov);
  visit("reference_batch_size", options.reference_batch_size);
  visit("learning_rate_scaling", options.learning_rate_scaling);
  visit("schedule", options.schedule_name);
  visit("learning_rate", options.learning_rate);
  visit("min_learning_rate", options.min_learning_rate);
  visit("warmup_steps", options.warmup_steps);
  visit("weight_decay", options.weight_decay);
  visit("clip", options.clip);
  visit("dropout", options.dropout);
  visit("bf16", options.bf16);
  visit("activation_checkpointing", options.activation_checkpointing);
  visit("save_every", options.save_every);
  visit("keep_last", options.keep_last);
  visit("async_save", options.async_save);
  visit("validate_every", options.validate_every);
  visit("prompt", options.prompt);
  visit("sample_tokens", options.sample_tokens);
  visit("log_batches", options.log_batches);
  visit("accumulation_steps", options.accumulation_steps);
  visit("uneven", options.uneven);
  visit("no_sync", options.no_sync);
  visit("check_replicas", options.check_replicas);
  visit("backend", options.backend);
  visit("compress_gradients", options.compress_gradients);
  visit("bind_cores", options.bind_cores);
}

}  // namespace

nlohmann::json to_json(const TrainOptions& options) {
  nlohmann::json json;
  for_each_option(options, [&json](const char* name, const auto& value) { json[name] = value; });
  json["data"] = options.data_path.string();
  json["validation_data"] = options.validation_data.string();
  json["out"] = options.out.string();
  return json;
}

TrainOptions options_from_json(const nlohmann::json& json) {
  TrainOptions options;
  try {
    for_each_option(options, [&json](const char* name, auto& value) { json.at(name).get_to(value); });
    options.data_path = json.at("data").get<std::string>();
    options.validation_data = json.at("validation_data").get<std::string>();
    options.out = json.at("out").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat("options.json of the run to resume: ", error.what()));
  }
  return options;
}

}  // namespace lockstep::run
