#include "run/load_corpus.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "comm/objects.hpp"
#include "comm/process_group.hpp"
#include "data/sentence_piece.hpp"

namespace lockstep::run {

namespace fs = std::filesystem;

namespace {

using Kind = data::TokenizerSpec::Kind;

data::CorpusOptions corpus_options(const TrainOptions& options) {
  const nn::GptConfig config = options.model_config();
  return {.data = options.data.path,
          .validation_data = options.data.validation_path,
          .context_length = config.context_length,
          .vocabulary_size = config.vocabulary_size,
          .seed = options.seed,
          .placement = data::parse_placement(options.data.windows)};
}

// The bytes of the tokenizer's model; only rank 0 calls this.
std::string make_model(const TrainOptions& options, const data::TokenizerSpec& spec) {
  if (options.resume) return read_file(*options.resume / kTokenizerFile);
  if (spec.kind == Kind::kFile) return read_file(spec.file);
  const std::string name = options.data.path.empty() ? "the course text" : options.data.path.string();
  return data::train_sentence_piece(data::text_to_learn_from(corpus_options(options)), spec.vocabulary_size, name);
}

std::shared_ptr<const data::Tokenizer> make_tokenizer(const TrainOptions& options, comm::ProcessGroup* group) {
  const data::TokenizerSpec spec = data::parse_tokenizer_spec(options.data.tokenizer);
  if (spec.kind == Kind::kBytes) return data::byte_tokenizer();
  if (spec.kind == Kind::kNumbers) return data::number_tokenizer();
  std::string model = group == nullptr || group->rank() == 0 ? make_model(options, spec) : "";
  if (group != nullptr) model = comm::broadcast_text(*group, std::move(model), 0);
  if (!options.resume) return data::sentence_piece_tokenizer(std::move(model), options.data.tokenizer);
  return data::sentence_piece_tokenizer(std::move(model), (*options.resume / kTokenizerFile).string(),
                                        options.data.tokenizer_checksum);
}

// For a run to resume, whose data may have been moved.
void require_present(const TrainOptions& options) {
  if (!options.resume) return;
  for (const auto& [path, option] :
       {std::pair(options.data.path, "--data"), std::pair(options.data.validation_path, "--validation-data")}) {
    std::error_code error;
    if (path.empty() || path == data::kRandomData || fs::exists(path, error) || error) continue;
    throw UsageError(concat("--resume: ", options.resume->string(), " was trained on ", path.string(),
                            ", which is not there; if it was moved, say where it is with ", option));
  }
}

// Data are identified by their content; their location may change.
void require_same_data(const TrainOptions& options, comm::ProcessGroup* group, const data::CorpusOptions& read,
                       const data::Corpus& corpus) {
  const std::string& fingerprint = corpus.fingerprint;
  const std::string name = options.data.path.empty() ? "the course text" : options.data.path.string();
  const bool is_same = !options.resume || options.data.fingerprint == fingerprint ||
                       options.data.fingerprint == data::earlier_fingerprint(read, corpus);
  if (!is_same) {
    throw UsageError(
        concat("--resume: ", options.resume->string(), " was trained on data of another content than ", name,
               options.data.validation_path.empty() ? "" : concat(" and ", options.data.validation_path.string()),
               " now; restore it, or start a new run"));
  }
  if (group != nullptr && comm::broadcast_text(*group, fingerprint, 0) != fingerprint) {
    throw MismatchError(concat("rank ", group->rank(), " reads different data than rank 0: ", name,
                               " must have the same content for every rank"));
  }
}

// Fails now rather than at the end of training.
void require_usable_prompt(const TrainOptions& options, const data::Corpus& corpus) {
  if (options.text.sample_tokens == 0) return;
  for (const std::int32_t token : corpus.tokenizer->encode(options.text.prompt)) {
    if (token < corpus.vocabulary_size) continue;
    throw UsageError(concat("--prompt has the token ", token, ", but the model's vocabulary has ",
                            corpus.vocabulary_size, ": use a smaller one, or --sample-tokens 0"));
  }
}

data::Corpus load(const TrainOptions& options, comm::ProcessGroup* group) {
  options.require_divisible_batch(group == nullptr ? 1 : group->world_size());
  require_present(options);
  data::CorpusOptions wanted = corpus_options(options);
  const std::shared_ptr<const data::Tokenizer> tokenizer = make_tokenizer(options, group);
  const bool may_follow = options.data.vocabulary_size == 0;
  if (may_follow) wanted.vocabulary_size = std::max<std::int64_t>(wanted.vocabulary_size, tokenizer->vocabulary_size());
  data::Corpus corpus = data::load_corpus(wanted, tokenizer);
  require_usable_prompt(options, corpus);
  require_same_data(options, group, wanted, corpus);
  return corpus;
}

}  // namespace

data::Corpus load_corpus(const TrainOptions& options) { return load(options, nullptr); }

data::Corpus load_corpus(const TrainOptions& options, comm::ProcessGroup& group) { return load(options, &group); }

std::shared_ptr<const data::Tokenizer> load_tokenizer(const fs::path& path, const TrainOptions& trained) {
  const data::TokenizerSpec spec = data::parse_tokenizer_spec(trained.data.tokenizer);
  if (spec.kind == Kind::kBytes) return data::byte_tokenizer();
  if (spec.kind == Kind::kNumbers) return data::number_tokenizer();
  fs::path folder = fs::absolute(path).lexically_normal();
  // RUN, RUN/checkpoints or RUN/checkpoints/step_N: the file is in RUN.
  for (int level = 0; level < 2 && !fs::exists(folder / kTokenizerFile); ++level) folder = folder.parent_path();
  if (!fs::exists(folder / kTokenizerFile)) {
    throw IoError(concat("no ", kTokenizerFile, " in ", path.string(), " or the two folders above: the model was ",
                         "trained with the tokenizer ", trained.data.tokenizer, ", which its run folder holds"));
  }
  return data::sentence_piece_tokenizer(read_file(folder / kTokenizerFile), (folder / kTokenizerFile).string(),
                                        trained.data.tokenizer_checksum);
}

}  // namespace lockstep::run
