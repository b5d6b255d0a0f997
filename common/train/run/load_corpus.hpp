#pragma once
/// @file
/// The data that a run trains on, and the tokenizer that is stored with the run.
#include <filesystem>
#include <memory>

#include "data/corpus.hpp"
#include "run/train_options.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// Reads --data, --validation-data and --tokenizer: trains the tokenizer, or reads that of the run to resume.
/// @throws IoError, FormatError  As data::load_corpus() and data::train_sentence_piece(); or the tokenizer cannot
///                               express the prompt.
/// @throws UsageError            The data of the run to resume have changed; or, before anything is read, the ranks
///                               cannot divide the batch.
[[nodiscard]] data::Corpus load_corpus(const TrainOptions& options);

/// The same on every rank of `group`. Only rank 0 trains or reads the tokenizer; it sends the bytes to the others, so
/// that no rank waits for another's file.
/// @throws MismatchError  This rank's data differ from rank 0's.
[[nodiscard]] data::Corpus load_corpus(const TrainOptions& options, comm::ProcessGroup& group);

/// File name of a tokenizer model in a run folder.
inline constexpr const char* kTokenizerFile = "tokenizer.model";

/// The tokenizer that a model was trained with.
/// @param path     A run folder, or a checkpoint in one.
/// @param trained  As saved with the model; the file must match its checksum.
/// @throws IoError, FormatError  tokenizer.model is missing or different.
[[nodiscard]] std::shared_ptr<const data::Tokenizer> load_tokenizer(const std::filesystem::path& path,
                                                                    const DataOptions& trained);

}  // namespace lockstep::run
