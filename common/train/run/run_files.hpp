#pragma once
/// @file
/// The folder of a run, and the files in it that describe the run.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "run/description.hpp"
#include "run/metrics.hpp"
#include "run/ranks.hpp"
#include "run/run_options.hpp"
#include "trace/recorder.hpp"

namespace lockstep::run {

/// Makes the ranks agree on the run's folder, and writes files there: on the main rank the run's description and the
/// final report; on every rank its costs. Thread safety: none.
class RunFiles {
 public:
  /// Uses the folder of --resume, or has the main rank make a new one. Collective.
  /// @param saved_options  to_json() of the program's options.
  /// @throws IoError        The folder cannot be made.
  /// @throws MismatchError  Ranks would resume different runs.
  RunFiles(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, const Ranks& ranks);

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }  ///< The same on all ranks.
  /// The program's options, with values determined by the run.
  [[nodiscard]] const nlohmann::json& saved_options() const noexcept { return saved_options_; }

  /// Writes options.json and RunSummary::files, on the main rank. If that fails, a new folder is removed.
  /// @throws IoError
  void write_options(const RunSummary& facts) const;
  /// Makes a folder again that was removed or moved while the run trains, with the files of write_options(), so that
  /// its checkpoints can be resumed. On the main rank; says so, and logs an error.
  /// @param step  The next one that is logged.
  void restore_if_removed(const RunSummary& facts, std::int64_t step);
  /// Removes a new folder, on the main rank: the run has failed before its first step.
  void remove_if_new() const noexcept;
  /// Writes this rank's trace and summary. Write errors are logged. @param history, peaks  This process's.
  void write_costs(const trace::Recorder& recorder, std::span<const StepMetrics> history,
                   const MemoryPeaks& peaks) const;
  /// Writes the report, on the main rank; logs a write error. @param history  As for write_costs().
  /// @pre  All ranks have returned from write_costs().
  void write_report(const Facts& description, const Outcome& outcome,
                    const std::vector<std::filesystem::path>& compared, std::span<const StepMetrics> history) const;

 private:
  Ranks ranks_;
  bool is_new_;
  std::filesystem::path folder_;
  nlohmann::json saved_options_;
  bool has_warned_ = false;  // about a folder that cannot be made again
};

}  // namespace lockstep::run
