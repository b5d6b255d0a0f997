#pragma once
/// @file
/// Describes a run in words: its setup at the start, its outcome at the end.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.hpp"
#include "run/ranks.hpp"
#include "run/run_options.hpp"

namespace lockstep::run {

/// Names and values, in display order.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Facts about the trained model and data that only the program has. All but the first three are optional.
struct RunSummary {
  std::int64_t parameters = 0;          ///< Number of elements; a tied weight counts once.
  std::int64_t training_samples = 0;    ///< In an epoch, over all ranks.
  std::int64_t validation_samples = 0;  ///< In an evaluation, over all ranks.

  std::int64_t tokens_per_sample = 0;  ///< If samples are sequences: tokens are counted then, else samples.
  std::string loss_unit = {};          ///< For the report: "nats per sample".
  std::string label = {};              ///< In the run folder's name; empty: the options' task.
  std::string model_details = {};      ///< Beside label and parameters: "2 layers, width 256".
  std::string data_source = {};
  std::string update = {};  ///< How weights are updated; empty: the learning rate's description.
  Facts more = {};
  bool wants_sample = false;  ///< The program generates an example from the trained model at the end.

  std::map<std::string, std::string> files = {};  ///< Written into the run folder: name and content.
  /// Entries of options.json that were determined by the program, not given: an object, or null.
  nlohmann::json recorded = {};
};

/// The label, or the task if there is none.
[[nodiscard]] std::string label_of(const std::string& task, const RunSummary& facts);

/// Model and parameter count, data and its size, batch per step and per rank, ranks with device and threads, how they
/// divide the model if they do, optimization; then RunSummary::more.
[[nodiscard]] Facts describe(const RunOptions& options, const RunSummary& facts, const Ranks& ranks);

/// Two columns of plain text, a line per fact, wrapped at `columns`.
[[nodiscard]] std::string banner(const Facts& facts, std::size_t columns = kAnyColumns);

/// The most memory of one process; 0: not known.
struct MemoryPeaks {
  double counted_mib = 0;  ///< As counted_peak_mib().
  double process_mib = 0;  ///< As process_peak_mib().
};

/// How a run, or this process's part of it, ended.
struct Outcome {
  std::int64_t step = 0;                         ///< Steps done.
  std::int64_t first_step = 0;                   ///< Steps done before this process began.
  std::int64_t last_step = 0;                    ///< Steps planned.
  std::int64_t warmup_steps = 0;                 ///< In which the learning rate rises.
  std::optional<double> loss = {};               ///< Of the last step; empty: unknown.
  std::optional<double> validation_loss = {};    ///< The last one; empty: none.
  std::map<std::string, double> scores = {};     ///< Measured with the validation loss, by name.
  std::chrono::duration<double> elapsed{};       ///< Of this process, in seconds.
  std::chrono::duration<double> longest_save{};  ///< Longest wait for one checkpoint; 0: none was saved.
  MemoryPeaks largest_peaks = {};                ///< The largest of any rank, each for itself.
  std::string generated = {};                    ///< Empty: no text was generated.
  std::string layout = {};                       ///< As RunOptions::layout.
  std::string division = {};                     ///< As RunOptions::division.
  std::string loss_unit = {};                    ///< As RunSummary::loss_unit.
};

/// The last lines of the output: the result, the generated text, where to look, how to continue; wrapped at `columns`.
[[nodiscard]] std::string closing(const std::filesystem::path& run_folder, const Outcome& outcome,
                                  std::size_t columns = kAnyColumns);

}  // namespace lockstep::run
