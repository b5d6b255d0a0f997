// The trackers by name, and several of them at once.
#include "run/tracker.hpp"

#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::run {

std::unique_ptr<Tracker> make_tracker(std::string_view name, const std::filesystem::path& folder) {
  if (name == "jsonl") return make_json_lines_tracker(folder);
  if (name == "tensorboard") return make_tensorboard_tracker(folder);
  throw UsageError(concat("there is no tracker '", name, "'; the trackers are jsonl and tensorboard"));
}

void Trackers::log(const Scalars& values, std::int64_t step) {
  for (const auto& tracker : trackers_) {
    try {
      tracker->log(values, step);
    } catch (const IoError& error) {
      if (!reported_.insert(error.what()).second) continue;  // once, not at each step
      Logger().warning(concat("the run goes on, but values of step ", step, " are not logged: ", error.what()));
    }
  }
}

}  // namespace lockstep::run
