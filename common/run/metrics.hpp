#pragma once
/// @file
/// What is known about each training step, and the file metrics.jsonl: one JSON object per line and step.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::run {

/// What a run counts to say how fast it is.
enum class Unit { kSamples, kTokens };

/// "samples" or "tokens".
[[nodiscard]] const char* name_of(Unit unit) noexcept;

/// One step. Numbers survive writing and reading bit for bit.
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

/// All lines of a file. A last line without line feed is the rest of a write that was cut off, and ignored.
/// @throws IoError, FormatError  The latter names the line.
[[nodiscard]] std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);

/// Adds lines to a run's metrics.jsonl; each is in the file when write() returns.
class MetricsFile {
 public:
  /// Opens `path` and keeps its lines up to step `last_step`: a resumed run repeats what came after its checkpoint.
  /// @throws IoError  The file cannot be written.
  MetricsFile(const std::filesystem::path& path, std::int64_t last_step);

  /// @throws IoError  The disk is full or gone.
  void write(const StepMetrics& metrics);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace lockstep::run
