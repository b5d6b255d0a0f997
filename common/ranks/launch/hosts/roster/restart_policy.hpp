#pragma once
/// @file
/// Decides what follows a generation of a job. Internal to this module.
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "launch/hosts/agent_messages.hpp"
#include "launch/hosts/roster/first_cause.hpp"

namespace lockstep::launch {

/// The remaining hosts form the next generation at once.
struct GatherAgain {};
/// They do so after a pause, which uses up a restart.
struct Restart {
  std::chrono::milliseconds pause{};
  std::string notice;  ///< For people.
};
/// The step that follows a generation; a verdict ends the job.
using NextStep = std::variant<GatherAgain, Restart, VerdictMessage>;

struct GenerationEnd {
  std::optional<EndCause> cause;       ///< Empty: all ranks exited with 0.
  bool have_all_saved = false;         ///< All ranks have saved and ask to be restarted.
  bool is_any_leaving = false;         ///< A present host will not take part again.
  std::optional<int> hub_signal = {};  ///< Signal to the hub's own host to end, if any.
};

/// Decides whether a job goes on after a generation, restarts, or ends. A rank that exits with 2 (a wrong command line)
/// ends a job of a fixed number of hosts in spite of restarts left. Thread safety: one thread.
class RestartPolicy {
 public:
  /// Number of restarts and pauses.
  struct Limits {
    bool is_elastic = false;  ///< Hosts may come and go, which uses up no restart.
    int max_restarts = 0;
    std::chrono::milliseconds backoff{};          ///< Before the first restart; doubles each time...
    std::chrono::milliseconds longest_backoff{};  ///< ... up to this.
  };
  explicit RestartPolicy(Limits limits) : limits_(limits) {}

  /// Call once per generation, after all of its ranks have ended.
  [[nodiscard]] NextStep decide(const GenerationEnd& end);
  /// Failures so far that led to a restart.
  [[nodiscard]] int restart_count() const noexcept { return restart_count_; }

 private:
  [[nodiscard]] NextStep restart_or_give_up(const GenerationEnd& end);
  [[nodiscard]] bool is_wrong_use(const EndCause& cause) const noexcept;
  [[nodiscard]] std::chrono::milliseconds pause() const;

  Limits limits_;
  int restart_count_ = 0;
};

}  // namespace lockstep::launch
