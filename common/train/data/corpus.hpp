#pragma once
/// @file
/// The data of a training program: samples for training and for validation, and their tokenizer.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/dataset.hpp"
#include "data/tokenizer.hpp"
#include "data/windows.hpp"

namespace lockstep::data {

/// The name of generated random data.
inline constexpr const char* kRandomData = "random";

/// The text to read, and how.
struct CorpusOptions {
  std::filesystem::path data{};             ///< A text, a token file (.bin), kRandomData, or empty: the course text.
  std::filesystem::path validation_data{};  ///< Empty: the last tenth of `data`.
  std::int64_t context_length = 0;          ///< T: tokens per sample.
  std::int64_t vocabulary_size = 0;         ///< The model's: the limit of ids in token files, and of random tokens.
  std::uint64_t seed = 0;                   ///< Of random tokens and windows.
  Placement placement = Placement::kFixed;  ///< Of the training samples' windows; those for validation are fixed.
};

/// Samples and tokenizer.
struct Corpus {
  std::shared_ptr<const Dataset> training;
  std::shared_ptr<const Dataset> validation;   ///< Never used to update weights.
  std::shared_ptr<const Tokenizer> tokenizer;  ///< Turns a prompt into tokens, and drawn tokens into text.
  std::int64_t vocabulary_size = 0;
  std::string fingerprint;  ///< Equal for equal content, at any path.
};

/// The Corpus::fingerprint that an earlier version would have computed for the same data: different for token files
/// only. @throws IoError  A file cannot be read.
[[nodiscard]] std::string earlier_fingerprint(const CorpusOptions& options, const Corpus& corpus);

/// By its name (.bin).
[[nodiscard]] bool is_token_file(const std::filesystem::path& data);

/// The default tokenizer of data: "bytes" for text, else "numbers".
[[nodiscard]] std::string usual_tokenizer(const std::filesystem::path& data);

/// The text for training a tokenizer: `data` without the validation part.
/// @throws FormatError  `data` is no text.
[[nodiscard]] std::string text_to_learn_from(const CorpusOptions& options);

/// Reads the data with a tokenizer.
/// @throws IoError      A file cannot be read.
/// @throws FormatError  A file is empty, too short or damaged.
/// @throws UsageError   Data and tokenizer do not go together; the tokenizer has more tokens than
///                      options.vocabulary_size (gives both numbers).
[[nodiscard]] Corpus load_corpus(const CorpusOptions& options, std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace lockstep::data
