#pragma once
/// @file
/// Says in one sentence where the time of a run's steps went.
#include <optional>
#include <span>
#include <string>

#include "run/rank_summary.hpp"

namespace lockstep::run {

/// The rank whose work took longest, if it stands out: by 2 % of a step or more.
struct LastRank {
  int rank = 0;
  RankSummary::Milliseconds late{};  ///< Its own time less the mean of the others', per step.
  bool data_was_late = false;        ///< Waiting longer for its data than the others is most of `late`.
};

/// @return  Empty: a single rank, or none stands out.
[[nodiscard]] std::optional<LastRank> last_rank(std::span<const RankSummary> ranks);

/// "13 % of each step was waiting for other ranks; rank 1 came last, by 3.1 ms a step, because its data came late."
/// Says only what the ranks have measured: without "because" where that does not tell the cause. Of a single rank, its
/// share of waiting for data. Empty if there is nothing to say: no rank, or no step.
[[nodiscard]] std::string time_verdict(std::span<const RankSummary> ranks);

}  // namespace lockstep::run
