#include "data/corpus.hpp"

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "data/text.hpp"
#include "data/token_dataset.hpp"
#include "data/token_file.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kRandomTrainingSamples = 1 << 16;
constexpr std::int64_t kRandomValidationSamples = 1 << 8;

bool is_random(const fs::path& data) { return data == kRandomData; }

// A tenth, rounded up so that it is never empty.
std::int64_t validation_share(std::int64_t count) { return (count + 9) / 10; }

std::string name_of(const fs::path& data) { return data.empty() ? "course text" : data.string(); }

std::string joined_fingerprint(const std::string& training, const std::string& validation) {
  return validation.empty() ? training : sha256_hex(training + validation);
}

std::shared_ptr<const Dataset> windows_of(std::string_view text, const Tokenizer& tokenizer, const std::string& name,
                                          const CorpusOptions& options, Placement placement) {
  Tokens tokens{.ids = tokenizer.encode(text), .vocabulary_size = tokenizer.vocabulary_size(), .name = name};
  return std::make_shared<TokenDataset>(std::move(tokens), options.context_length, placement, options.seed);
}

void add_text(Corpus& corpus, const CorpusOptions& options) {
  const std::string name = name_of(options.data);
  const std::string text = read_text(options.data);
  const auto training = [&](std::string_view part, const std::string& part_name) {
    return windows_of(part, *corpus.tokenizer, part_name, options, options.placement);
  };
  const auto validation = [&](std::string_view part, const std::string& part_name) {
    return windows_of(part, *corpus.tokenizer, part_name, options, Placement::kFixed);
  };
  corpus.fingerprint = sha256_hex(text);
  if (!options.validation_data.empty()) {
    const std::string other = read_text(options.validation_data);
    corpus.fingerprint = joined_fingerprint(corpus.fingerprint, sha256_hex(other));
    corpus.training = training(text, name);
    corpus.validation = validation(other, options.validation_data.string());
    return;
  }
  const TextParts parts = split_text(text, name);
  corpus.training = training(parts.training, name + " (training part)");
  corpus.validation = validation(parts.validation, name + " (validation part)");
}

void add_token_files(Corpus& corpus, const CorpusOptions& options) {
  const auto file = std::make_shared<const TokenFile>(options.data);
  TokenFileDataset::Options training{.token_count = file->token_count(),
                                     .context_length = options.context_length,
                                     .vocabulary_size = corpus.vocabulary_size,
                                     .placement = options.placement,
                                     .seed = options.seed};
  TokenFileDataset::Options validation = training;
  validation.placement = Placement::kFixed;
  corpus.fingerprint = file->fingerprint();
  if (!options.validation_data.empty()) {
    const auto other = std::make_shared<const TokenFile>(options.validation_data);
    corpus.fingerprint = joined_fingerprint(corpus.fingerprint, other->fingerprint());
    validation.token_count = other->token_count();
    corpus.training = std::make_shared<TokenFileDataset>(file, training);
    corpus.validation = std::make_shared<TokenFileDataset>(other, validation);
    return;
  }
  validation.token_count = validation_share(file->token_count());
  training.token_count -= validation.token_count;
  validation.first_token = training.token_count;
  corpus.training = std::make_shared<TokenFileDataset>(file, training);
  corpus.validation = std::make_shared<TokenFileDataset>(file, validation);
}

void add_random_tokens(Corpus& corpus, const CorpusOptions& options) {
  if (corpus.vocabulary_size < 2)
    throw UsageError(concat("--vocabulary-size ", corpus.vocabulary_size, " is too small: --data ", kRandomData,
                            " has at least 2 different tokens"));
  RandomTokenDataset::Options random{.sample_count = kRandomTrainingSamples,
                                     .context_length = options.context_length,
                                     .vocabulary_size = static_cast<std::int32_t>(corpus.vocabulary_size),
                                     .seed = options.seed};
  corpus.training = std::make_shared<RandomTokenDataset>(random);
  random.first_sample = kRandomTrainingSamples;  // the same rule, other samples
  random.sample_count = kRandomValidationSamples;
  corpus.validation = std::make_shared<RandomTokenDataset>(random);
  corpus.fingerprint = concat("random tokens ", options.seed, " ", corpus.vocabulary_size);
}

void require_consistent(const CorpusOptions& options, const Tokenizer& tokenizer) {
  const bool has_no_text = is_random(options.data) || is_token_file(options.data);
  if (!has_no_text && tokenizer.vocabulary_size() == 0) {
    throw UsageError(concat(name_of(options.data), " is a text, which the tokenizer 'numbers' cannot read: use ",
                            "--tokenizer bytes or sentencepiece, or a token file (.bin)"));
  }
  if (options.validation_data.empty()) return;
  if (is_random(options.data) || is_token_file(options.data) != is_token_file(options.validation_data)) {
    throw UsageError(concat("--data ", name_of(options.data), " and --validation-data ",
                            options.validation_data.string(), " are of different kinds: give two texts or two token ",
                            "files (.bin)"));
  }
}

std::int64_t needed_vocabulary(const CorpusOptions& options, const Tokenizer& tokenizer) {
  if (tokenizer.vocabulary_size() <= options.vocabulary_size) return options.vocabulary_size;
  throw UsageError(concat("--vocabulary-size ", options.vocabulary_size, " is too small for the ",
                          tokenizer.vocabulary_size(), " tokens of the tokenizer (", tokenizer.description(), "): use ",
                          tokenizer.vocabulary_size(), " or more or leave the option out, or a tokenizer with at most ",
                          options.vocabulary_size, " tokens"));
}

}  // namespace

bool is_token_file(const fs::path& data) { return data.extension() == ".bin"; }

std::string usual_tokenizer(const fs::path& data) {
  return is_random(data) || is_token_file(data) ? "numbers" : "bytes";
}

std::string text_to_learn_from(const CorpusOptions& options) {
  if (is_random(options.data) || is_token_file(options.data)) {
    throw FormatError(concat(name_of(options.data),
                             " is not a text that a tokenizer could learn from: name the FILE.model ",
                             "that it was made with, or a text as --data"));
  }
  const std::string text = read_text(options.data);
  if (!options.validation_data.empty()) return text;
  return std::string(split_text(text, name_of(options.data)).training);
}

std::string earlier_fingerprint(const CorpusOptions& options, const Corpus& corpus) {
  if (!is_token_file(options.data)) return corpus.fingerprint;
  const bool has_validation = !options.validation_data.empty();
  return joined_fingerprint(sampled_fingerprint(options.data),
                            has_validation ? sampled_fingerprint(options.validation_data) : "");
}

Corpus load_corpus(const CorpusOptions& options, std::shared_ptr<const Tokenizer> tokenizer) {
  require_consistent(options, *tokenizer);
  Corpus corpus;
  corpus.tokenizer = std::move(tokenizer);
  corpus.vocabulary_size = needed_vocabulary(options, *corpus.tokenizer);
  if (is_random(options.data)) {
    add_random_tokens(corpus, options);
  } else if (is_token_file(options.data)) {
    add_token_files(corpus, options);
  } else {
    add_text(corpus, options);
  }
  return corpus;
}

}  // namespace lockstep::data
