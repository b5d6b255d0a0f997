#pragma once
/// @file
/// Trackers for a run's numbers: one small interface, and three file formats that need no service.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::accelerate {

/// The values of a step, by name: {{"loss", 2.31}, {"learning_rate", 1e-3}}.
using Scalars = std::map<std::string, double>;

/// Writes the numbers of one run, on one process. Lines are in the file when log() returns, so that a killed run keeps
/// them. Thread safety: none.
/// @source accelerate.tracking.GeneralTracker, Hugging Face Accelerate 1.
class Tracker {
 public:
  Tracker() = default;
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;
  virtual ~Tracker() = default;

  /// @param step  The values' step; need not increase. @throws IoError  They cannot be written.
  virtual void log(const Scalars& values, std::int64_t step) = 0;
};

/// "metrics.jsonl": an object per call, {"step": 3, "loss": 2.31}. Numbers survive bit for bit; NaN and infinities,
/// which JSON does not have, become null. A scalar called "step" is written as "step (2)".
/// @param folder  Exists. @throws IoError  The file cannot be opened.
[[nodiscard]] std::unique_ptr<Tracker> make_json_lines_tracker(const std::filesystem::path& folder);

/// "metrics.csv": a line per number, step,name,value, because later calls may have other names than the first.
/// @param folder  Exists. @throws IoError  The file cannot be opened.
[[nodiscard]] std::unique_ptr<Tracker> make_csv_tracker(const std::filesystem::path& folder);

/// "events.out.tfevents.SECONDS.HOST.PROCESS", which TensorBoard shows as scalars (float32, as it keeps them).
/// @param folder  Exists. @throws IoError  The file cannot be opened.
[[nodiscard]] std::unique_ptr<Tracker> make_tensorboard_tracker(const std::filesystem::path& folder);

/// Makes a tracker by name. @param name  "jsonl", "csv" or "tensorboard".
/// @throws UsageError  There is no such tracker; lists those there are.
[[nodiscard]] std::unique_ptr<Tracker> make_tracker(std::string_view name, const std::filesystem::path& folder);

}  // namespace lockstep::accelerate
