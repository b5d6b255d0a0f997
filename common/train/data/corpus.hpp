#pragma once
/// @file
/// What a training program reads: samples to train on, samples to validate with, and their tokenizer.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/dataset.hpp"
#include "data/tokenizer.hpp"
#include "data/windows.hpp"

namespace lockstep::data {

/// The name of the data that is made up instead of read.
inline constexpr const char* kRandomData = "random";

/// What is to be read, and how.
struct CorpusOptions {
  std::filesystem::path data{};             ///< A text, a token file (.bin), kRandomData, or empty: the course text.
  std::filesystem::path validation_data{};  ///< Empty: the last tenth of `data`.
  std::int64_t context_length = 0;          ///< T: tokens per sample.
  std::int64_t vocabulary_size = 0;  ///< The model's: the limit of ids in token files, and that of random tokens.
  std::uint64_t seed = 0;            ///< Of random tokens and windows.
  Placement placement = Placement::kFixed;  ///< Of the training samples' windows; those that validate are fixed.
};

/// Samples and tokenizer.
struct Corpus {
  std::shared_ptr<const Dataset> training;     ///< What the weights learn from.
  std::shared_ptr<const Dataset> validation;   ///< What they never see.
  std::shared_ptr<const Tokenizer> tokenizer;  ///< Turns a prompt into tokens, and drawn tokens into text.
  std::int64_t vocabulary_size = 0;            ///< That the model needs.
  std::string fingerprint;                     ///< Data of equal content have equal ones, wherever they are.
};

/// What Corpus::fingerprint would be in a run of an earlier version that read the same data: another mark for token
/// files, and for all else the same. @throws IoError  A file cannot be read.
[[nodiscard]] std::string earlier_fingerprint(const CorpusOptions& options, const Corpus& corpus);

/// Whether `data` is a token file by its name (.bin).
[[nodiscard]] bool is_token_file(const std::filesystem::path& data);

/// The tokenizer that data has where none is asked for: "bytes" of a text, "numbers" of the rest.
[[nodiscard]] std::string usual_tokenizer(const std::filesystem::path& data);

/// The text that a tokenizer may learn from: `data` without what validates.
/// @throws FormatError  `data` is no text.
[[nodiscard]] std::string text_to_learn_from(const CorpusOptions& options);

/// Reads the data with a tokenizer.
/// @throws IoError      A file cannot be read.
/// @throws FormatError  A file is empty, too short or damaged; data and tokenizer do not go together; the tokenizer has
///                      more tokens than options.vocabulary_size (gives both numbers).
[[nodiscard]] Corpus load_corpus(const CorpusOptions& options, std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace lockstep::data
