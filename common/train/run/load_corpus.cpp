#include "run/load_corpus.hpp"

#include <algorithm>
#include <optional>
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

data::CorpusOptions corpus_options(const DataOptions& data, const nn::GptConfig& model, std::uint64_t seed) {
  return {.data = data.path,
          .validation_data = data.validation_path,
          .context_length = model.context_length,
          .vocabulary_size = model.vocabulary_size,
          .seed = seed,
          .placement = data::parse_placement(data.windows)};
}

std::string shown_name(const DataOptions& data) { return data.path.empty() ? "the course text" : data.path.string(); }

// The bytes of the tokenizer's model; only rank 0 calls this.
std::string make_model(const DataOptions& data, const data::CorpusOptions& wanted, const data::TokenizerSpec& spec) {
  if (spec.kind == Kind::kFile) return read_file(spec.file);
  return data::train_sentence_piece(data::text_to_learn_from(wanted), spec.vocabulary_size, shown_name(data));
}

// @param resumed  The run to resume, which has its tokenizer; empty: a new run.
std::shared_ptr<const data::Tokenizer> make_tokenizer(const DataOptions& data, const data::CorpusOptions& wanted,
                                                      const std::optional<fs::path>& resumed,
                                                      comm::ProcessGroup* group) {
  const data::TokenizerSpec spec = data::parse_tokenizer_spec(data.tokenizer);
  if (spec.kind == Kind::kBytes) return data::byte_tokenizer();
  if (spec.kind == Kind::kNumbers) return data::number_tokenizer();
  std::string model;
  if (group == nullptr || group->rank() == 0)
    model = resumed ? read_file(*resumed / kTokenizerFile) : make_model(data, wanted, spec);
  if (group != nullptr) model = comm::broadcast_text(*group, std::move(model), 0);
  if (!resumed) return data::sentence_piece_tokenizer(std::move(model), data.tokenizer);
  return data::sentence_piece_tokenizer(std::move(model), (*resumed / kTokenizerFile).string(),
                                        data.tokenizer_checksum);
}

// For a run to resume, whose data may have been moved.
void require_present(const DataOptions& data, const fs::path& resumed) {
  for (const auto& [path, option] :
       {std::pair(data.path, "--data"), std::pair(data.validation_path, "--validation-data")}) {
    std::error_code error;
    if (path.empty() || path == data::kRandomData || fs::exists(path, error) || error) continue;
    throw UsageError(concat("--resume: ", resumed.string(), " was trained on ", path.string(),
                            ", which is not there; if it was moved, say where it is with ", option));
  }
}

// Data are identified by their content; their location may change.
void require_same_data(const DataOptions& data, const fs::path& resumed, const data::CorpusOptions& read,
                       const data::Corpus& corpus) {
  if (data.fingerprint == corpus.fingerprint || data.fingerprint == data::earlier_fingerprint(read, corpus)) return;
  throw UsageError(concat("--resume: ", resumed.string(), " was trained on data of another content than ",
                          shown_name(data),
                          data.validation_path.empty() ? "" : concat(" and ", data.validation_path.string()),
                          " now; restore it, or start a new run"));
}

void require_same_on_all(const DataOptions& data, const std::string& fingerprint, comm::ProcessGroup& group) {
  if (comm::broadcast_text(group, fingerprint, 0) == fingerprint) return;
  throw MismatchError(concat("rank ", group.rank(), " reads different data than rank 0: ", shown_name(data),
                             " must have the same content for every rank"));
}

// Fails now rather than at the end of training.
void require_usable_prompt(const TextOptions& text, const data::Corpus& corpus) {
  if (text.sample_tokens == 0) return;
  for (const std::int32_t token : corpus.tokenizer->encode(text.prompt)) {
    if (token < corpus.vocabulary_size) continue;
    throw UsageError(concat("--prompt has the token ", token, ", but the model's vocabulary has ",
                            corpus.vocabulary_size, ": use a smaller one, or --sample-tokens 0"));
  }
}

data::Corpus load(const TrainOptions& options, comm::ProcessGroup* group) {
  const DataOptions& data = options.data;
  options.require_divisible_batch(group == nullptr ? 1 : group->world_size());
  if (options.resume) require_present(data, *options.resume);
  data::CorpusOptions wanted = corpus_options(data, options.model.config(data.vocabulary_size), options.seed);
  const auto tokenizer = make_tokenizer(data, wanted, options.resume, group);
  const bool may_follow = data.vocabulary_size == 0;
  if (may_follow) wanted.vocabulary_size = std::max<std::int64_t>(wanted.vocabulary_size, tokenizer->vocabulary_size());
  data::Corpus corpus = data::load_corpus(wanted, tokenizer);
  require_usable_prompt(options.text, corpus);
  if (options.resume) require_same_data(data, *options.resume, wanted, corpus);
  if (group != nullptr) require_same_on_all(data, corpus.fingerprint, *group);
  return corpus;
}

}  // namespace

data::Corpus load_corpus(const TrainOptions& options) { return load(options, nullptr); }

data::Corpus load_corpus(const TrainOptions& options, comm::ProcessGroup& group) { return load(options, &group); }

std::shared_ptr<const data::Tokenizer> load_tokenizer(const fs::path& path, const DataOptions& trained) {
  const data::TokenizerSpec spec = data::parse_tokenizer_spec(trained.tokenizer);
  if (spec.kind == Kind::kBytes) return data::byte_tokenizer();
  if (spec.kind == Kind::kNumbers) return data::number_tokenizer();
  fs::path folder = fs::absolute(path).lexically_normal();
  // RUN, RUN/checkpoints or RUN/checkpoints/step_N: the file is in RUN.
  for (int level = 0; level < 2 && !fs::exists(folder / kTokenizerFile); ++level) folder = folder.parent_path();
  if (!fs::exists(folder / kTokenizerFile)) {
    throw IoError(concat("no ", kTokenizerFile, " in ", path.string(), " or the two folders above: the model was ",
                         "trained with the tokenizer ", trained.tokenizer, ", which its run folder holds"));
  }
  return data::sentence_piece_tokenizer(read_file(folder / kTokenizerFile), (folder / kTokenizerFile).string(),
                                        trained.tokenizer_checksum);
}

}  // namespace lockstep::run
