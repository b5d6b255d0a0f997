#include "comm/control/hub/explainer.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/counted.hpp"
#include "base/number_list.hpp"
#include "base/text.hpp"

namespace lockstep::comm {
namespace {

// Ranks with the same text.
struct RanksAlike {
  std::vector<int> ranks;
  std::string text;
};

// One entry per rank if there are few. Otherwise ranks with equal text share an entry, and the smallest entries, the
// outliers, come first.
template <typename TextOf>
std::vector<RanksAlike> alike(const std::vector<int>& ranks, const TextOf& text_of) {
  std::vector<RanksAlike> entries;
  std::map<std::string, std::size_t> places;  // by text
  for (const int rank : ranks) {
    const std::string text = text_of(rank);
    const auto [place, is_new] = places.try_emplace(text, entries.size());
    if (is_new || ranks.size() <= kMostListed)
      entries.push_back({{rank}, text});
    else
      entries[place->second].ranks.push_back(rank);
  }
  if (ranks.size() > kMostListed) {
    std::ranges::stable_sort(entries, {}, [](const RanksAlike& entry) { return entry.ranks.size(); });
  }
  return entries;
}

// "rank 1: barrier #0; ranks 0, 2-1023: nothing yet"
std::string to_text(const std::vector<RanksAlike>& entries, std::string_view before_text, std::string_view separator) {
  std::string text;
  std::size_t others = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [ranks, what] = entries[i];
    if (i >= kMostListed) {
      others += ranks.size();
      continue;
    }
    text += concat(text.empty() ? "" : separator, ranks.size() == 1 ? "rank " : "ranks ", list_numbers(ranks),
                   before_text, what);
  }
  return others == 0 ? text : concat(text, separator, "and ", counted(others, "more rank"));
}

}  // namespace

std::string Explainer::describe_pair(int rank, int group, const PairStatus& pair) const {
  const int peer = groups_.missing_peer(rank, group, pair);
  const bool is_circle = groups_.is_in_circle(rank, group, pair);
  return concat("rank ", rank, " waits for rank ", peer, " in ", describe(pair.operation), " for ",
                format_seconds(pair.running_for), "; rank ", peer, ": ", describe_rank(peer),
                is_circle ? "; these ranks wait for each other in a circle: put the sends and recvs of an exchange "
                            "between group_start() and group_end(), or let one of the ranks receive first"
                          : "");
}

std::string Explainer::describe_ranks(const std::vector<int>& ranks, const GroupKey& group) const {
  const auto last_of = [&](int rank) -> std::string {
    const GroupStatus* const found = groups_.status_in(group, rank);
    const bool has_entered = found != nullptr && found->issued;
    return concat("(", caveat(rank),
                  has_entered ? concat("last entered ", describe(*found->issued)) : "has entered nothing", ")");
  };
  return to_text(alike(ranks, last_of), " ", ", ");
}

// Precedes a rank's last report if that may be outdated.
std::string_view Explainer::caveat(int rank) const {
  return unanswered_.contains(rank) ? "does not answer; its last report: " : "";
}

std::string Explainer::describe_rank(int rank) const {
  const std::string text = describe_status(groups_.status(rank), [&](int group, int place) {
    const std::vector<int>& members = *groups_.group_of(rank, group).members;
    return place >= 0 && place < static_cast<int>(members.size()) ? members[static_cast<std::size_t>(place)] : place;
  });
  return concat(caveat(rank), text, groups_.has_left(rank) ? " (has left)" : "");
}

std::string Explainer::describe_all() const {
  return to_text(alike(*groups_.everybody(), [this](int rank) { return describe_rank(rank); }), ": ", "; ");
}

Failure Explainer::explained(Failure failure, int reporter) const {
  if (failure.kind == FailureKind::kMismatch) {
    failure.message += concat(" [", describe_all(), "]");
    name_outlier(failure, reporter);
  }
  std::set<CollectiveKey> seen;
  if (failure.kind == FailureKind::kTimeout && !explain_timeout(failure, reporter, seen)) {
    for (const int rank : *groups_.everybody()) {
      if (explain_timeout(failure, rank, seen)) return failure;
    }
    const auto waits = [](const auto& of_group) { return of_group.second.running || !of_group.second.pairs.empty(); };
    const bool is_in_call = std::ranges::any_of(groups_.status(reporter), waits);  // else it waits for a rank to join
    failure.message += concat(is_in_call ? "; all have entered it [" : " [", describe_all(), "]");
  }
  return failure;
}

// Names the rank that `rank` waits for, if any. All ranks in a collective wait for the same ranks, so each collective
// is `seen` once.
bool Explainer::explain_timeout(Failure& failure, int rank, std::set<CollectiveKey>& seen) const {
  for (const auto& [number, status] : groups_.status(rank)) {
    const GroupKey group = groups_.group_of(rank, number);
    const bool is_new = status.running && seen.emplace(group, status.running->sequence).second;
    const auto missing = is_new ? groups_.missing_ranks(group, status.running->sequence) : std::vector<int>{};
    if (!missing.empty()) {
      if (missing.size() == 1) failure.culprit = missing.front();
      failure.message += concat("; not entered by ", describe_ranks(missing, group));
      return true;
    }
    for (const PairStatus& pair : status.pairs) {
      const int peer = groups_.missing_peer(rank, number, pair);
      if (peer < 0) continue;
      if (!groups_.is_in_circle(rank, number, pair)) failure.culprit = peer;
      failure.message += concat("; ", describe_pair(rank, number, pair));
      return true;
    }
  }
  return false;
}

// If a single rank differs from two or more that agree, it is probably at fault.
void Explainer::name_outlier(Failure& failure, int reporter) const {
  for (const auto& [number, status] : groups_.status(reporter)) {
    if (!status.running) continue;
    const GroupKey group = groups_.group_of(reporter, number);
    std::map<net::FrameTag, std::vector<int>> callers;  // by what they called
    for (const int member : *group.members) {
      const GroupStatus* const found = groups_.status_in(group, member);
      if (found == nullptr || !found->running || found->running->sequence != status.running->sequence) continue;
      callers[to_tag(*found->running)].push_back(member);
    }
    if (callers.size() != 2) continue;
    const auto& one = callers.begin()->second;
    const auto& other = callers.rbegin()->second;
    const auto& odd = one.size() == 1 ? one : other;
    const auto& agreed = one.size() == 1 ? other : one;
    if (odd.size() != 1 || agreed.size() < 2) continue;  // with two ranks, neither is the outlier
    failure.culprit = odd.front();
    failure.message += concat("; rank ", odd.front(), " differs from the others");
    return;
  }
}

}  // namespace lockstep::comm
