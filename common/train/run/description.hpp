#pragma once
/// @file
/// A run in words: what it is, at its start, and how it went, at its end.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/run_options.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// Names and values, in the order in which they are read.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// What a run cannot know of what it trains: the program says it. All but the first three may be left out.
struct RunSummary {
  std::int64_t parameters = 0;          ///< Elements of all parameters; a tied weight counts once.
  std::int64_t training_samples = 0;    ///< In an epoch, over all ranks.
  std::int64_t validation_samples = 0;  ///< In an evaluation, over all ranks.

  std::int64_t tokens_per_sample = 0;  ///< Of samples that are sequences: tokens are counted then, and samples else.
  std::string loss_unit = {};          ///< Of the loss, for the report: "nats per sample".
  std::string label = {};              ///< In the run folder's name; empty: the options' task.
  std::string model_details = {};      ///< Beside label and parameters: "2 layers, width 256".
  std::string data_source = {};        ///< Where the samples come from.
  std::string update = {};             ///< How weights move; empty: the learning rate's part of it.
  Facts more = {};                     ///< Further facts.
  bool wants_sample = false;           ///< The program shows what the model makes when training is complete.

  std::map<std::string, std::string> files = {};  ///< To be written into the run folder: name and content.
  nlohmann::json recorded = {};  ///< Entries of options.json that were found, not given: an object, or null for none.
};

/// The label, or the task where there is none.
[[nodiscard]] std::string label_of(const RunOptions& options, const RunSummary& facts);

/// Model and parameter count, data and its size, batch per step and per rank, ranks with device and threads,
/// optimization; then the summary's further facts.
/// @param group  The ranks that train together; null: this process alone.
[[nodiscard]] Facts describe(const RunOptions& options, const RunSummary& facts, const comm::ProcessGroup* group);

/// Two columns of plain text, a line per fact.
[[nodiscard]] std::string banner(const Facts& facts);

/// How a run, or the part of it that this process did, ended.
struct Outcome {
  std::int64_t step = 0;                         ///< Steps done.
  std::int64_t first_step = 0;                   ///< Steps done before this process began.
  std::int64_t last_step = 0;                    ///< Steps planned.
  std::optional<double> loss;                    ///< Of the last step; empty: it is not known.
  std::optional<double> validation_loss;         ///< The last one measured; empty: none was.
  std::map<std::string, double> scores;          ///< Measured with it, by name.
  std::chrono::duration<double> elapsed{};       ///< Of this process, in seconds.
  std::chrono::duration<double> longest_save{};  ///< That the training waited for one checkpoint; 0: none was saved.
  std::string generated;                         ///< Empty: no text was generated.
  std::string loss_unit;                         ///< As RunSummary::loss_unit.
};

/// The last lines of the output: how it went, the generated text, where to look, how to go on.
[[nodiscard]] std::string closing(const std::filesystem::path& run_folder, const Outcome& outcome);

}  // namespace lockstep::run
