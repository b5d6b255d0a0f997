#pragma once
/// @file
/// Why a generation of a job ends before its ranks have. Internal to this module.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// Something that ends a generation.
struct EndCause {
  /// What has happened.
  enum class Kind {
    kRank,        ///< A rank has failed.
    kHost,        ///< A host is lost.
    kSignal,      ///< A host was asked to end.
    kPreempted,   ///< The ranks of a host were asked to stop, and have saved.
    kMembership,  ///< A host has come.
  };
  Kind kind = Kind::kRank;                ///< What.
  int agent = -1;                         ///< Of the host that says so, or of the one that is lost.
  int exit_code = 1;                      ///< What it means for the job's own.
  int rank = -1;                          ///< Of kRank: the culprit, perhaps a rank of another host than the agent's.
  std::string text{};                     ///< For people: "rank 1 on host b (node rank 1) exited with code 3".
  std::vector<std::string> last_lines{};  ///< Of the culprit's output.
  Deadline::Clock::time_point when{};     ///< It was heard of.

  /// The ranks that are left end in good order: it is no failure.
  [[nodiscard]] bool is_orderly() const noexcept { return kind != Kind::kRank && kind != Kind::kHost; }
};

/// Finds out which of several things that go wrong came first: they may be heard of in another order, since what was
/// killed takes time to end, and hosts are not equally far away. Thread safety: one thread.
class FirstCause {
 public:
  /// @param cause  Heard of first.
  explicit FirstCause(EndCause cause) : cause_(std::move(cause)) {}

  /// Another rank has failed. @param is_its_host  The agent that says so has started the rank.
  /// @return  What all hosts are told; nothing if it is only a consequence.
  [[nodiscard]] std::optional<std::string> hear_failure(EndCause heard, bool is_its_host);
  /// A host is lost. @param last_heard  When it last gave a sign of life. @return  What all hosts are told.
  [[nodiscard]] std::string hear_loss(EndCause heard, Deadline::Clock::time_point last_heard);
  /// A host was asked to end.
  void hear_signal(EndCause heard);
  /// All ranks of a host have ended. @param last_lines  Of the one that failed first there.
  void hear_end(int agent, const std::vector<std::string>& last_lines);

  /// The first cause, as far as has been heard.
  [[nodiscard]] const EndCause& get() const noexcept { return cause_; }

 private:
  [[nodiscard]] bool may_be_consequence() const noexcept;
  [[nodiscard]] std::string correct(EndCause cause);

  EndCause cause_;
};

}  // namespace lockstep::launch
