#pragma once
/// @file
/// A run in words: what it is, at its start, and how it went, at its end.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/corpus.hpp"
#include "run/train_options.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// What the banner and the report say beside the options.
struct RunSummary {
  std::int64_t parameters = 0;          ///< Elements of all parameters; a tied weight counts once.
  std::int64_t training_samples = 0;    ///< In an epoch, over all ranks.
  std::int64_t validation_samples = 0;  ///< In an evaluation, over all ranks.
  data::Corpus corpus = {};             ///< Its tokenizer and fingerprint stay with the run; may be empty.
};

/// Names and values, in the order in which they are read.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Model and parameter count, data and its size, batch per step and per rank, ranks with device and threads,
/// optimization; precision and activation checkpointing where they are not the usual ones.
/// @param group  The ranks that train together; null: this process alone.
[[nodiscard]] Facts describe(const TrainOptions& options, const RunSummary& facts, const comm::ProcessGroup* group);

/// Two columns of plain text, a line per fact.
[[nodiscard]] std::string banner(const Facts& facts);

/// How a run, or the part of it that this process did, ended.
struct Outcome {
  std::int64_t step = 0;                         ///< Steps done.
  std::int64_t last_step = 0;                    ///< Steps planned.
  double loss = 0;                               ///< Of the last step, in nats per token.
  std::optional<double> validation_loss;         ///< The last one measured; empty: none was.
  std::chrono::duration<double> elapsed{};       ///< Of this process, in seconds.
  std::chrono::duration<double> longest_save{};  ///< That the training waited for one checkpoint; 0: none was saved.
  std::string generated;                         ///< Empty: no text was generated.
};

/// The last lines of the output: how it went, the generated text, where to look, how to go on.
[[nodiscard]] std::string closing(const std::filesystem::path& run_folder, const Outcome& outcome);

}  // namespace lockstep::run
