#include "run/text_summary.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "autograd/autocast.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "data/text.hpp"
#include "kernels/matmul.hpp"
#include "run/load_corpus.hpp"
#include "run/optimization.hpp"
#include "run/readable.hpp"

namespace lockstep::run {
namespace {

std::string describe_sizes(const nn::GptConfig& config) {
  return concat(config.layer_count, " layers, ", config.head_count, " heads, width ", config.channels, ", context ",
                config.context_length, ", vocabulary ", config.vocabulary_size);
}

std::string describe_file(const std::filesystem::path& data) {
  const bool is_course_text = data.empty();
  const std::filesystem::path path = is_course_text ? data::find_course_text() : data;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  return concat(is_course_text ? "course text" : path.string(), ", ", short_bytes(bytes));
}

std::string describe_source(const std::filesystem::path& data, const data::Corpus& corpus) {
  const std::string source = data == data::kRandomData ? "random tokens" : describe_file(data);
  return corpus.tokenizer ? source + " as " + corpus.tokenizer->description() : source;
}

std::string describe_precision(MixedPrecision precision, Device device) {
  const bool is_emulated = precision == MixedPrecision::kBf16 && device.is_cpu() && !kernels::has_bfloat16_products();
  return concat(precision == MixedPrecision::kBf16 ? "bfloat16" : "float16",
                " activations and products, float32 weights, gradients and updates",
                is_emulated ? "; emulated: no bfloat16 instructions here, so not faster" : "");
}

Facts describe_memory_and_precision(const ModelOptions& model, Device device) {
  Facts facts;
  const MixedPrecision precision = autograd::autocast_precision();
  if (precision != MixedPrecision::kNo)
    facts.emplace_back(std::string(name_of(precision)), describe_precision(precision, device));
  if (model.activation_checkpointing)
    facts.emplace_back("memory", "activations of a block are computed again in backward");
  return facts;
}

// Facts about the data that resuming and generating need; saved with the options.
nlohmann::json record(const data::Corpus& corpus) {
  const std::string_view model = corpus.tokenizer->model();
  return {{"vocabulary_size", corpus.vocabulary_size},
          {"data_fingerprint", corpus.fingerprint},
          {"tokenizer_checksum", model.empty() ? "" : sha256_hex(model)}};
}

}  // namespace

RunSummary summarize_text_run(const TrainOptions& options, const data::Corpus& corpus, const nn::Module& model) {
  const nn::GptConfig config = options.model.config(corpus.vocabulary_size);
  const std::string update = describe_optimization(options, options.total_steps(corpus.training->size()));
  RunSummary summary{.parameters = model.parameter_count(),
                     .training_samples = corpus.training->size(),
                     .validation_samples = corpus.validation->size(),
                     .tokens_per_sample = config.context_length,
                     .loss_unit = "nats per token",
                     .label = config.name,
                     .model_details = describe_sizes(config),
                     .data_source = describe_source(options.data.path, corpus),
                     .update = concat(update, ", dropout ", shortest(options.model.dropout)),
                     .more = describe_memory_and_precision(options.model, model.parameters().front().device()),
                     .wants_sample = options.text.sample_tokens > 0,
                     .recorded = record(corpus)};
  if (!corpus.tokenizer->model().empty()) summary.files[kTokenizerFile] = corpus.tokenizer->model();
  return summary;
}

}  // namespace lockstep::run
