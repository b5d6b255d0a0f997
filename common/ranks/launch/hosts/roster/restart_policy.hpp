#pragma once
/// @file
/// What comes after a generation of a job. Internal to this module.
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "launch/hosts/agent_messages.hpp"
#include "launch/hosts/roster/first_cause.hpp"

namespace lockstep::launch {

/// The hosts that are left form the next generation at once.
struct GatherAgain {};
/// They do after a pause, which uses up a restart.
struct Restart {
  std::chrono::milliseconds pause{};  ///< Before it.
  std::string notice;                 ///< For people.
};
/// What comes after a generation; a verdict ends the job.
using NextStep = std::variant<GatherAgain, Restart, VerdictMessage>;

/// How a generation has ended.
struct GenerationEnd {
  std::optional<EndCause> cause;       ///< Empty: all ranks have ended with 0.
  bool have_all_saved = false;         ///< All ranks have, and ask to be started again.
  bool is_any_leaving = false;         ///< A host that is still there takes part no longer.
  std::optional<int> hub_signal = {};  ///< That has asked the hub's own host to end; empty: none has.
};

/// Decides whether a job goes on after a generation, restarts, or ends. Thread safety: one thread.
class RestartPolicy {
 public:
  /// How often, and after which pauses.
  struct Limits {
    bool is_elastic = false;                      ///< Hosts may come and go: that uses up no restart.
    int max_restarts = 0;                         ///< Restarts at most.
    std::chrono::milliseconds backoff{};          ///< Before the first one; twice as long before each one more...
    std::chrono::milliseconds longest_backoff{};  ///< ... up to this.
  };
  explicit RestartPolicy(Limits limits) : limits_(limits) {}

  /// Once per generation, after all of its ranks have ended.
  [[nodiscard]] NextStep decide(const GenerationEnd& end);
  /// Failures so far that were followed by a restart.
  [[nodiscard]] int restart_count() const noexcept { return restart_count_; }

 private:
  [[nodiscard]] NextStep restart_or_give_up(const GenerationEnd& end);
  [[nodiscard]] std::chrono::milliseconds pause() const;

  Limits limits_;
  int restart_count_ = 0;
};

}  // namespace lockstep::launch
