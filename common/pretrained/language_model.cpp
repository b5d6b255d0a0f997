#include "pretrained/language_model.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/tensor_files.hpp"
#include "data/byte_pair.hpp"
#include "pretrained/gpt2_config.hpp"
#include "pretrained/gpt2_weights.hpp"
#include "run/load_corpus.hpp"
#include "run/run_folder.hpp"
#include "run/train_options.hpp"
#include "run/training_state.hpp"

namespace lockstep::pretrained {

namespace fs = std::filesystem;

namespace {

LanguageModel load_hugging_face(const fs::path& folder, Device device) {
  const fs::path file = folder / kConfigFile;
  const nn::GptConfig config = parse_gpt2_config(read_file(file), file);
  const checkpoint::TensorFiles files(folder);
  require_gpt2_weights(files, config);  // before gigabytes are asked for
  LanguageModel loaded;
  loaded.tokenizer = data::read_byte_pair_tokenizer(folder);
  if (loaded.tokenizer->vocabulary_size() > config.vocabulary_size) {
    throw FormatError(concat(folder.string(), ": the tokenizer has ", loaded.tokenizer->vocabulary_size(),
                             " tokens, the model only ", config.vocabulary_size));
  }
  loaded.model = std::make_unique<nn::Gpt>(config, nn::InitScope::skip_init(device));
  load_gpt2_weights(files, *loaded.model);
  loaded.prompt = data::kEndOfText;  // a document begins behind the end of another
  return loaded;
}

LanguageModel load_run(const fs::path& path, Device device) {
  const nlohmann::json options = run::load_options(path);
  if (options.contains("task"))
    throw FormatError(
        concat(path.string(), ": a run of ", options["task"].get<std::string>(), ", which writes no text"));
  const run::TrainOptions trained = run::options_from_json(options);
  LanguageModel loaded;
  loaded.model = std::make_unique<nn::Gpt>(trained.model_config(), nn::InitScope::skip_init(device));
  run::load_model(path, *loaded.model);
  loaded.tokenizer = run::load_tokenizer(path, trained);
  loaded.prompt = trained.text.prompt;
  return loaded;
}

}  // namespace

fs::path find_model(const fs::path& named) {
  if (!named.empty()) return named;
  const std::optional<fs::path> latest = run::latest_run("runs");
  if (!latest) throw UsageError("no trained model in runs: name a run's folder, or train one first");
  return *latest;
}

bool is_hugging_face_folder(const fs::path& folder) { return fs::is_regular_file(folder / kConfigFile); }

LanguageModel load_language_model(const fs::path& path, Device device) {
  return is_hugging_face_folder(path) ? load_hugging_face(path, device) : load_run(path, device);
}

}  // namespace lockstep::pretrained
