#pragma once
/// @file
/// The data that a run trains on, and the tokenizer that stays with the run.
#include <filesystem>
#include <memory>

#include "data/corpus.hpp"
#include "run/train_options.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// Reads what --data, --validation-data and --tokenizer name: learns the tokenizer, or reads the one of the run to
/// resume.
/// @throws IoError, FormatError  As data::load_corpus() and data::train_sentence_piece(); a prompt that the tokenizer
///                               cannot express.
/// @throws UsageError            The data of the run to resume are not what they were; before anything is read, a batch
///                               that the ranks cannot divide, for which no loader could be made.
[[nodiscard]] data::Corpus load_corpus(const TrainOptions& options);

/// The same on every rank of `group`. Rank 0 alone learns or reads the tokenizer and sends its bytes to the others, so
/// that no rank waits for another's file.
/// @throws MismatchError  Beside the above: this rank's data differ from rank 0's.
[[nodiscard]] data::Corpus load_corpus(const TrainOptions& options, comm::ProcessGroup& group);

/// The model of a tokenizer that has one, in a run folder.
inline constexpr const char* kTokenizerFile = "tokenizer.model";

/// The tokenizer that a model was trained with.
/// @param path     A run folder, or a checkpoint in one.
/// @param trained  As saved with the model; its checksum must be that of the file.
/// @throws IoError, FormatError  tokenizer.model is missing, or another.
[[nodiscard]] std::shared_ptr<const data::Tokenizer> load_tokenizer(const std::filesystem::path& path,
                                                                    const TrainOptions& trained);

}  // namespace lockstep::run
