#pragma once
/// @file
/// The data that a run trains on, and the tokenizer that stays with the run.
#include <filesystem>
#include <memory>

#include "data/corpus.hpp"
#include "run/team.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {

/// Reads what --data, --validation-data and --tokenizer name. Rank 0 learns the tokenizer, or reads the one of the run
/// to resume, and shares its bytes: no rank waits for a file of another.
/// @param team  All ranks call it.
/// @throws IoError, FormatError  As data::load_corpus() and data::train_sentence_piece(); a prompt that the tokenizer
///                               cannot express.
/// @throws UsageError            The data of the run to resume are not what they were.
/// @throws MismatchError         This rank reads other data than rank 0.
[[nodiscard]] data::Corpus load_corpus(const TrainOptions& options, const Team& team);

/// Writes the model of a tokenizer that has one as `tokenizer.model` into a run folder, atomically.
/// @throws IoError  The disk failed.
void save_tokenizer(const std::filesystem::path& run_folder, const data::Tokenizer& tokenizer);

/// The tokenizer that a model was trained with.
/// @param path     A run folder, or a checkpoint in one.
/// @param trained  As saved with the model; its checksum must be that of the file.
/// @throws IoError, FormatError  tokenizer.model is missing, or another.
[[nodiscard]] std::shared_ptr<const data::Tokenizer> load_tokenizer(const std::filesystem::path& path,
                                                                    const TrainOptions& trained);

}  // namespace lockstep::run
