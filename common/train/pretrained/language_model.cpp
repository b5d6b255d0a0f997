#include "pretrained/language_model.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/manifest.hpp"
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

// One tensor with a NaN or infinity makes every score NaN, and sampled text noise.
void require_finite(const nn::Gpt& model, const fs::path& path, const char* reason) {
  for (const nn::NamedParameter& named : model.named_parameters()) {
    const Tensor values = named.parameter.value().to(Device{});
    const std::span<const float> elements = values.span<float>();
    const auto is_bad = [](float value) { return !std::isfinite(value); };
    const auto first = std::ranges::find_if(elements, is_bad);
    if (first == elements.end()) continue;
    throw FormatError(concat(path.string(), ": tensor ", named.name, " has ", std::ranges::count_if(elements, is_bad),
                             " of ", elements.size(), " elements that are not finite (the first, element ",
                             first - elements.begin(), ", is ", std::isnan(*first) ? "not a number" : "infinite",
                             "): ", reason));
  }
}

// For a folder with a model's files but without its config.
void require_config(const fs::path& path) {
  if (!fs::is_directory(path) || fs::exists(path / checkpoint::kStateFile))
    return;  // a checkpoint has model.safetensors
  for (const char* name :
       {checkpoint::kModelFile, checkpoint::kShardIndexFile, data::kVocabularyFile, "tokenizer.json"})
    if (fs::exists(path / name))
      throw IoError(concat(path.string(), " has ", name, ", but no ", kConfigFile,
                           ", which says the sizes of the model: fetch all files of the model"));
}

LanguageModel load_hugging_face(const fs::path& folder, Device device) {
  const fs::path file = folder / kConfigFile;
  const std::string text = read_file(file);
  const nn::GptConfig config = parse_gpt2_config(text, file);
  const checkpoint::TensorFiles files(folder);
  const Head head = has_untied_head(text, file) ? Head::kOwn : Head::kTied;
  require_gpt2_weights(files, config, head);  // before gigabytes are allocated
  LanguageModel loaded;
  loaded.tokenizer = data::read_byte_pair_tokenizer(folder);
  if (loaded.tokenizer->vocabulary_size() > config.vocabulary_size) {
    throw FormatError(concat(folder.string(), ": the tokenizer has ", loaded.tokenizer->vocabulary_size(),
                             " tokens, the model only ", config.vocabulary_size));
  }
  loaded.model = std::make_unique<nn::Gpt>(config, nn::InitScope::skip_init(device));
  load_gpt2_weights(files, *loaded.model);
  require_finite(*loaded.model, folder, "the file is damaged, or the training that made it has diverged");
  loaded.prompt = data::kEndOfText;  // a document follows the end of another
  return loaded;
}

LanguageModel load_run(const fs::path& path, Device device) {
  const nlohmann::json options = run::load_options(path);
  if (options.contains("task"))
    throw FormatError(
        concat(path.string(), ": a run of ", options["task"].get<std::string>(), ", which writes no text"));
  const run::TrainOptions trained = run::options_from_json(options);
  LanguageModel loaded;
  loaded.model =
      std::make_unique<nn::Gpt>(trained.model.config(trained.data.vocabulary_size), nn::InitScope::skip_init(device));
  run::load_model(path, *loaded.model);
  require_finite(*loaded.model, path,
                 "the training has diverged; name one of its older checkpoints (RUN/checkpoints/step_...), if that is "
                 "still sound");
  loaded.tokenizer = run::load_tokenizer(path, trained.data);
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
  if (is_hugging_face_folder(path)) return load_hugging_face(path, device);
  require_config(path);
  return load_run(path, device);
}

}  // namespace lockstep::pretrained
