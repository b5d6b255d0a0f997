#pragma once
/// @file
/// Trackers for a run's numbers: one small interface, and two file formats that need no service.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::run {

/// The values of a step, by name: {{"loss", 2.31}, {"learning_rate", 1e-3}}.
using Scalars = std::map<std::string, double>;

/// Writes the numbers of one run, on one process. Values are in the file when log() returns, so that a killed run keeps
/// them; after a file was removed, they go to a new one. Thread safety: none.
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

/// "events.out.tfevents.SECONDS.HOST.PROCESS", which TensorBoard shows as scalars (float32, as it keeps them). The
/// first log() makes the file.
/// @param folder      Exists.
/// @param first_step  Of a run that continues: TensorBoard then hides what earlier files of the folder have of this
///                    step and later ones.
[[nodiscard]] std::unique_ptr<Tracker> make_tensorboard_tracker(const std::filesystem::path& folder,
                                                                std::optional<std::int64_t> first_step = {});

/// Makes a tracker by name. @param name  "jsonl" or "tensorboard".
/// @throws UsageError  There is no such tracker; lists those there are.
[[nodiscard]] std::unique_ptr<Tracker> make_tracker(std::string_view name, const std::filesystem::path& folder);

/// Any number of trackers, of which none can end a training run. Thread safety: none.
class Trackers {
 public:
  void add(std::unique_ptr<Tracker> tracker) { trackers_.push_back(std::move(tracker)); }
  /// Gives the values to all trackers. If one cannot write (a full disk), its values are lost with a warning, which is
  /// given once for each cause.
  void log(const Scalars& values, std::int64_t step);
  /// Closes all files; log() then does nothing.
  void close() noexcept { trackers_.clear(); }

 private:
  std::vector<std::unique_ptr<Tracker>> trackers_;
  std::set<std::string> reported_;  // messages of errors
};

}  // namespace lockstep::run
