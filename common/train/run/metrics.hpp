#pragma once
/// @file
/// What is known about each training step, and the file metrics.jsonl: one JSON object per line and step.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::run {

/// What a run counts to say how fast it is.
enum class Unit { kSamples, kTokens };

/// "samples" or "tokens".
[[nodiscard]] const char* name_of(Unit unit) noexcept;

/// One step. Finite numbers survive writing and reading bit for bit; others are null in the file, and read as NaN.
struct StepMetrics {
  using Milliseconds = std::chrono::duration<double, std::milli>;  ///< With fractions.

  std::int64_t step = 0;                              ///< Updates done, this one included: the first line says 1.
  std::int64_t epoch = 0;                             ///< From 0 on.
  double loss = 0;                                    ///< Mean over the global batch, before this update.
  std::optional<double> validation_loss;              ///< After this update, where it was measured.
  std::map<std::string, double> scores;               ///< What else was measured then, by name: accuracy.
  double learning_rate = 0;                           ///< That the step used.
  std::optional<double> gradient_norm;                ///< Before clipping, where it was measured.
  Unit unit = Unit::kTokens;                          ///< Of `count`.
  std::int64_t count = 0;                             ///< Samples or tokens of this step, over all ranks.
  Milliseconds duration{};                            ///< The whole step; validation and saving do not count.
  Milliseconds data_wait{};                           ///< Part of duration: waiting for the loader.
  Milliseconds forward{};                             ///< Of all micro-batches.
  Milliseconds backward{};                            ///< With the communication that runs inside it.
  Milliseconds update{};                              ///< Clipping and the optimizer.
  std::optional<Milliseconds> exposed_communication;  ///< Waiting for other ranks; unset on a single device.
  int slowest_rank = 0;                               ///< The rank with the largest own_time().
  std::vector<double> peak_memory_mib;                ///< By rank: see peak_memory_mib() in rank_summary.hpp.
  std::vector<std::int64_t> sample_ids;               ///< Of the global batch in its order, with --log-batches.

  /// What the rank took without waiting for others: duration less exposed_communication.
  [[nodiscard]] Milliseconds own_time() const noexcept;

  /// Over all ranks; 0 for a step that took no time.
  [[nodiscard]] double count_per_s() const noexcept;
};

/// One line without the line feed.
[[nodiscard]] std::string to_line(const StepMetrics& metrics);

/// @throws FormatError  Not a line that to_line() writes.
[[nodiscard]] StepMetrics parse_metrics_line(std::string_view line);

/// All steps of a file, as far as they can be read; for_each_json_line() says what becomes of other lines. After a line
/// of a step, those of the same and later steps that precede it do not count: a resumed run has repeated them.
/// @throws IoError  The file cannot be read.
[[nodiscard]] std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);

/// Adds lines to a run's metrics.jsonl; each is in the file when write() returns. A log never ends a run: what cannot
/// be read or written is left out, and a warning says so.
class MetricsFile {
 public:
  /// Opens `path` and keeps its lines up to step `last_step`: a resumed run repeats what came after its checkpoint. A
  /// file that cannot be read is left as it is, and appended to.
  MetricsFile(std::filesystem::path path, std::int64_t last_step);

  /// Adds a line. What could not be opened or written before is tried again.
  void write(const StepMetrics& metrics);

  /// The last line that the constructor has found and kept.
  [[nodiscard]] const std::optional<StepMetrics>& last_kept() const noexcept { return last_kept_; }

 private:
  void keep_lines(std::int64_t last_step);

  std::filesystem::path path_;
  UniqueFd file_;
  std::optional<StepMetrics> last_kept_;
  bool is_torn_ = false;     // the file may end in the middle of a line
  bool has_warned_ = false;  // that lines cannot be written
};

}  // namespace lockstep::run
