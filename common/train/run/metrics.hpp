#pragma once
/// @file
/// The measurements of each training step, and the file metrics.jsonl: one JSON object per line and step.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "run/tracker.hpp"

namespace lockstep::run {

/// The unit of a run's throughput.
enum class Unit { kSamples, kTokens };

/// "samples" or "tokens".
[[nodiscard]] const char* name_of(Unit unit) noexcept;

/// One step. Finite numbers are written and read exactly; others are null in the file and are read as NaN.
struct StepMetrics {
  using Milliseconds = std::chrono::duration<double, std::milli>;

  std::int64_t step = 0;                              ///< Updates done, this one included: the first line has 1.
  std::int64_t epoch = 0;                             ///< From 0.
  double loss = 0;                                    ///< Mean over the global batch, before this update.
  std::optional<double> validation_loss;              ///< After this update, if it was measured.
  std::map<std::string, double> scores;               ///< Other measurements then, by name: accuracy.
  double learning_rate = 0;                           ///< Used in this step.
  std::optional<double> gradient_norm;                ///< Before clipping, if it was measured.
  Unit unit = Unit::kTokens;                          ///< Of `count`.
  std::int64_t count = 0;                             ///< Samples or tokens of this step, over all ranks.
  Milliseconds duration{};                            ///< The whole step, without validation and saving.
  Milliseconds data_wait{};                           ///< Part of duration: waiting for the data loader.
  Milliseconds forward{};                             ///< Of all micro-batches.
  Milliseconds backward{};                            ///< Includes the communication during backward.
  Milliseconds update{};                              ///< Clipping and the optimizer.
  std::optional<Milliseconds> exposed_communication;  ///< Waiting for other ranks; unset on a single device.
  int slowest_rank = 0;                               ///< The rank with the largest own_time().
  std::vector<double> peak_memory_mib;                ///< By rank; see peak_memory_mib() in rank_summary.hpp.
  std::vector<std::int64_t> sample_ids;               ///< Of the global batch in its order, with --log-batches.

  /// This rank's time without waiting for others: duration less exposed_communication.
  [[nodiscard]] Milliseconds own_time() const noexcept;

  /// Over all ranks; 0 if the duration is 0.
  [[nodiscard]] double count_per_s() const noexcept;
};

/// One line without the newline.
[[nodiscard]] std::string to_line(const StepMetrics& metrics);

/// The numbers of the line, except the step and lists, by their names there; scores as "scores/accuracy".
[[nodiscard]] Scalars scalars_of(const StepMetrics& metrics);

/// @throws FormatError  Not a line written by to_line().
[[nodiscard]] StepMetrics parse_metrics_line(std::string_view line);

/// All steps of a file that can be read; see for_each_json_line() for other lines. A line replaces earlier lines of the
/// same or later steps, because a resumed run repeats them.
/// @throws IoError  The file cannot be read.
[[nodiscard]] std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);

/// Appends to a run's metrics.jsonl; each line is in the file when write() returns. Errors never end a run: lines that
/// cannot be read or written are left out with a warning.
class MetricsFile {
 public:
  /// Opens `path` and keeps its lines up to step `last_step`: a resumed run repeats the steps after its checkpoint. A
  /// file that cannot be read is appended to.
  MetricsFile(std::filesystem::path path, std::int64_t last_step);

  /// Adds a line. Retries if an earlier open or write failed; makes a new file if the file was removed.
  void write(const StepMetrics& metrics);

  /// The last line that the constructor kept.
  [[nodiscard]] const std::optional<StepMetrics>& last_kept() const noexcept { return last_kept_; }

 private:
  void keep_lines(std::int64_t last_step);

  std::filesystem::path path_;
  UniqueFd file_;
  std::optional<StepMetrics> last_kept_;
  bool is_torn_ = false;     // the file may end in the middle of a line
  bool has_warned_ = false;  // about lines that cannot be written
};

}  // namespace lockstep::run
