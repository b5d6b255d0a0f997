#pragma once
/// @file
/// Finds why a generation of a job ends early. Internal to this module.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// An event that ends a generation.
struct EndCause {
  enum class Kind {
    kRank,        ///< A rank has failed.
    kHost,        ///< A host is lost.
    kSignal,      ///< A host was asked to end.
    kPreempted,   ///< The ranks of a host were asked to stop, and have saved.
    kMembership,  ///< A host has joined.
  };
  Kind kind = Kind::kRank;
  int agent = -1;      ///< The agent that reports it, or that is lost.
  int exit_code = 1;   ///< Resulting exit code of the job.
  int rank = -1;       ///< For kRank: the culprit, which may be on a different host than the agent.
  std::string text{};  ///< For people: "rank 1 on host b (node rank 1) exited with code 3".
  std::vector<std::string> last_lines{};
  Deadline::Clock::time_point when{};  ///< When the hub heard of it.

  /// Not a failure: the remaining ranks end in good order.
  [[nodiscard]] bool is_orderly() const noexcept { return kind != Kind::kRank && kind != Kind::kHost; }
};

/// Finds the first of several problems. Reports may arrive out of order, since a killed process takes time to end and
/// hosts have different latencies. Thread safety: one thread.
class FirstCause {
 public:
  /// @param cause  The first one reported.
  explicit FirstCause(EndCause cause) : cause_(std::move(cause)) {}

  /// Another rank has failed. @param is_its_host  Whether the reporting agent started the rank.
  /// @return  The message for all hosts; nullopt if it is only a consequence.
  [[nodiscard]] std::optional<std::string> hear_failure(EndCause heard, bool is_its_host);
  /// A host is lost. @param last_heard  Time of its last heartbeat. @return  The message for all hosts.
  [[nodiscard]] std::string hear_loss(EndCause heard, Deadline::Clock::time_point last_heard);
  /// A host was asked to end.
  void hear_signal(EndCause heard);
  /// All ranks of a host have ended. @param last_lines  Output of the rank that failed first there.
  void hear_end(int agent, const std::vector<std::string>& last_lines);

  /// The first cause known so far.
  [[nodiscard]] const EndCause& get() const noexcept { return cause_; }

 private:
  [[nodiscard]] bool may_be_consequence() const noexcept;
  [[nodiscard]] std::string correct(EndCause cause);

  EndCause cause_;
};

}  // namespace lockstep::launch
