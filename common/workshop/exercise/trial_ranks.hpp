#pragma once
/// @file
/// The ranks of a trial, as processes. Internal to this module.
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "exercise/message.hpp"
#include "exercise/progress_board.hpp"
#include "exercise/rank_process.hpp"
#include "exercise/trial.hpp"

namespace lockstep::exercise {

/// Two connected sockets, not inherited by child processes. @throws IoError
[[nodiscard]] std::pair<UniqueFd, UniqueFd> connected_pair();

/// One rank: its process, its connection to the judge, and its result so far.
struct TrialRank {
  RankProcess process;
  UniqueFd control;
  MessageReader reader;
  std::optional<nlohmann::json> reply = {};
  bool has_ended = false;

  [[nodiscard]] bool is_done() const { return reply.has_value() || has_ended; }
  [[nodiscard]] bool has_answered() const { return reply && reply->contains("values"); }
};

/// Starts the ranks of a trial, asks them and collects their answers; reports whether they move. Judges nothing.
class TrialRanks {
 public:
  /// Starts them. Both arguments must outlive this object. @throws IoError  Cannot make a process or a connection.
  TrialRanks(const Subject& subject, const TrialOptions& options);

  /// Sends each rank its question; the delayed rank's last, after the others wait.
  void ask_all();
  /// Waits briefly, then collects answers, output and exits.
  void look();

  [[nodiscard]] std::vector<TrialRank>& all() noexcept { return ranks_; }
  [[nodiscard]] const ProgressBoard& board() const noexcept { return board_; }

  [[nodiscard]] bool have_answered() const;
  /// True if one has ended or thrown without an answer.
  [[nodiscard]] bool has_one_failed() const;
  /// True if all have entered the learner's code.
  [[nodiscard]] bool have_begun() const;
  /// True if one that has not answered is running or ready to run.
  [[nodiscard]] bool is_one_runnable() const;
  /// Grows with every activity of any rank.
  [[nodiscard]] std::uint64_t moves() const;
  /// What all of them have printed, in bytes.
  [[nodiscard]] std::uint64_t printed_bytes() const;
  /// Processor time in milliseconds of ranks that have not answered.
  [[nodiscard]] std::int64_t processor_time() const;
  /// How long they were ready to run without a processor.
  [[nodiscard]] std::chrono::milliseconds time_without_processor() const;

 private:
  using Clock = std::chrono::steady_clock;

  void start_all();
  void ask(int rank, Clock::time_point end);
  void await_others();
  [[nodiscard]] bool are_all_settled_without(int absent);

  const Subject& subject_;
  const TrialOptions& options_;
  ProgressBoard board_;
  std::vector<TrialRank> ranks_;
};

}  // namespace lockstep::exercise
