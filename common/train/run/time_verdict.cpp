#include "run/time_verdict.hpp"

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "run/readable.hpp"

namespace lockstep::run {
namespace {

using Milliseconds = RankSummary::Milliseconds;

constexpr double kNotable = 0.02;  // of a step; below it, ranks differ by chance
constexpr double kMostOfIt = 0.8;  // of the lateness: then it has one cause

Milliseconds own_time(const RankSummary& rank) { return rank.duration - rank.exposed_communication; }

// The mean over all ranks but `left_out`.
template <typename Value>
Milliseconds mean(std::span<const RankSummary> ranks, const Value& value, int left_out = -1) {
  Milliseconds sum{};
  int count = 0;
  for (const RankSummary& rank : ranks) {
    if (rank.rank == left_out) continue;
    sum += value(rank);
    ++count;
  }
  return sum / std::max(count, 1);
}

Milliseconds duration_of(const RankSummary& rank) { return rank.duration; }
Milliseconds data_wait_of(const RankSummary& rank) { return rank.data_wait; }
Milliseconds exposed_of(const RankSummary& rank) { return rank.exposed_communication; }

std::string share(Milliseconds part, Milliseconds whole) {
  const double percent = part / whole * 100;
  return percent > 0 && percent < 0.95 ? "less than 1 %" : fixed(percent, 0) + " %";
}

}  // namespace

std::optional<LastRank> last_rank(std::span<const RankSummary> ranks) {
  if (ranks.size() < 2) return std::nullopt;
  const int slowest = slowest_rank(ranks);
  const RankSummary& last = *std::ranges::find(ranks, slowest, &RankSummary::rank);
  const Milliseconds late = own_time(last) - mean(ranks, own_time, slowest);
  if (late < kNotable * mean(ranks, duration_of)) return std::nullopt;
  const Milliseconds data_late = last.data_wait - mean(ranks, data_wait_of, slowest);
  return LastRank{.rank = slowest, .late = late, .data_was_late = data_late >= kMostOfIt * late};
}

std::string time_verdict(std::span<const RankSummary> ranks) {
  const Milliseconds duration = mean(ranks, duration_of);
  if (duration.count() <= 0) return "";
  if (ranks.size() == 1) return share(ranks.front().data_wait, duration) + " of each step was waiting for data.";
  std::string text = share(mean(ranks, exposed_of), duration) + " of each step was waiting for other ranks";
  if (const std::optional<LastRank> last = last_rank(ranks)) {
    text += concat("; rank ", last->rank, " came last, by ", fixed(last->late.count(), 1), " ms a step",
                   last->data_was_late ? ", because its data came late" : "");
  }
  return text + ".";
}

}  // namespace lockstep::run
