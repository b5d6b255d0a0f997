#pragma once
/// @file
/// Who and what takes part in a run.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "data/corpus.hpp"
#include "trace/recorder.hpp"

namespace lockstep::run {

/// Who trains together. The default is one process alone. All ranks call sum and share in the same order.
struct Team {
  int rank = 0;         ///< In [0, world_size).
  int world_size = 1;   ///< At least 1.
  std::string backend;  ///< For the banner, such as "ring over TCP"; empty for one process alone.
  std::function<void(std::span<double>)> sum;                 ///< Replaces the values by their sums over all ranks.
  std::function<std::string(const std::string& text)> share;  ///< Rank 0's text, on every rank.
  std::function<void(const std::string& reason)> abort;       ///< Tells all ranks why this one gives up.
  std::function<void(std::shared_ptr<trace::Recorder>)> record_to;  ///< Where communication is to be recorded.
};

/// What the banner and the report say beside the options.
struct RunSummary {
  std::int64_t parameters = 0;          ///< Elements of all parameters; a tied weight counts once.
  std::int64_t training_samples = 0;    ///< In an epoch, over all ranks.
  std::int64_t validation_samples = 0;  ///< In an evaluation, over all ranks.
  data::Corpus corpus = {};             ///< Its tokenizer and fingerprint stay with the run; may be empty.
};

}  // namespace lockstep::run
