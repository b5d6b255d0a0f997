#include "exercise/wait_graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

bool is_waiting(const RankSnapshot& rank) {
  return rank.state != RankState::kStarting && rank.state != RankState::kComputing &&
         rank.state != RankState::kFinished;
}

std::string verb_of(const RankSnapshot& rank) {
  switch (rank.state) {
    case RankState::kSending:
      return "sends to";
    case RankState::kReceiving:
      return "receives from";
    case RankState::kExchanging:
      return "receives from";
    case RankState::kCollective:
      return "is in";
    default:
      return "waits for";
  }
}

std::string place_of(const RankSnapshot& rank) {
  return rank.file.empty() ? "" : concat(" (", rank.file, ":", rank.line, ")");
}

std::string line_of(const RankSnapshot& rank) {
  if (rank.state == RankState::kFinished) return concat("rank ", rank.rank, " has finished");
  if (!is_waiting(rank)) return concat("rank ", rank.rank, " is not in a send or a receive");
  if (rank.state == RankState::kCollective)
    return concat("rank ", rank.rank, " waits in ", rank.operation, ", its call number ", rank.call, place_of(rank));
  return concat("rank ", rank.rank, " ", verb_of(rank), " rank ", rank.peer, ": ", rank.bytes_done, " of ", rank.bytes,
                " bytes", place_of(rank));
}

// The ranks of a cycle in the order in which each waits for the next one; empty: there is none. A rank waits for one
// peer, so following the peers from any rank ends in a cycle or outside of the graph.
std::vector<int> find_cycle(const std::vector<RankSnapshot>& ranks) {
  for (const RankSnapshot& start : ranks) {
    std::vector<int> path;
    int at = start.rank;
    while (at >= 0 && at < static_cast<int>(ranks.size()) && is_waiting(ranks[at]) && ranks[at].peer >= 0) {
      const auto seen = std::ranges::find(path, at);
      if (seen != path.end()) {
        std::vector<int> cycle(seen, path.end());
        std::ranges::rotate(cycle, std::ranges::min_element(cycle));
        return cycle;
      }
      path.push_back(at);
      at = ranks[at].peer;
    }
  }
  return {};
}

std::string describe_cycle(const std::vector<int>& cycle) {
  std::string text = concat("rank ", cycle.front(), " waits for ");
  for (std::size_t i = 1; i < cycle.size(); ++i) text += concat("rank ", cycle[i], ", which waits for ");
  return text + concat("rank ", cycle.front());
}

std::string count_of(std::size_t count) {
  if (count == 2) return "both";
  return concat("all ", count == 3 ? "three" : count == 4 ? "four" : std::to_string(count));
}

void explain_cycle(const std::vector<RankSnapshot>& ranks, const std::vector<int>& cycle, WaitReport& report) {
  const auto all_are = [&](RankState state) {
    return std::ranges::all_of(cycle, [&](int rank) { return ranks[rank].state == state; });
  };
  report.summary = describe_cycle(cycle);
  if (all_are(RankState::kSending)) {
    report.summary += concat(": ", count_of(cycle.size()), " send before they receive");
    report.advice = "let sending and receiving overlap: exchange() does both at once";
  } else if (all_are(RankState::kReceiving)) {
    report.summary += concat(": ", count_of(cycle.size()), " receive before they send");
    report.advice = "somebody has to send first: compare with the order in which the neighbour calls";
  } else {
    report.advice = "write down, for each rank, its calls in order, and find the first that has no partner";
  }
}

void explain_collectives(const std::vector<RankSnapshot>& ranks, WaitReport& report) {
  std::set<std::string> operations;
  for (const RankSnapshot& rank : ranks)
    if (rank.state == RankState::kCollective) operations.insert(concat(rank.operation, " (call ", rank.call, ")"));
  const auto absent =
      std::ranges::find_if(ranks, [](const RankSnapshot& rank) { return rank.state != RankState::kCollective; });
  if (operations.size() > 1) {
    report.summary = "the ranks are in different collectives:";
    for (const std::string& operation : operations) report.summary += " " + operation + ";";
    report.summary.pop_back();
    report.advice = "all ranks must make the same calls in the same order: look for an if that depends on the rank";
  } else if (absent != ranks.end()) {
    report.summary = concat(*operations.begin(), " waits for rank ", absent->rank, ", which is not in it");
    if (is_waiting(*absent))
      report.summary += concat(": it ", verb_of(*absent), " rank ", absent->peer, place_of(*absent));
    report.advice = concat("find out why rank ", absent->rank, " does not make this call");
  } else {
    report.summary = concat("all ranks wait in ", *operations.begin());
    report.advice = "what does each of them wait for, and which rank should have sent it before?";
  }
}

}  // namespace

std::vector<RankSnapshot> snapshot(const ProgressBoard& board, int world_size) {
  std::vector<RankSnapshot> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    const RankProgress& entry = board.of(rank);
    // A judged program may write anything here, also text without an end.
    const auto text = [](const auto& field) { return std::string(field, ::strnlen(field, sizeof field)); };
    ranks.push_back({rank, entry.state, entry.peer, entry.line, entry.bytes, entry.bytes_done, entry.call,
                     text(entry.file), text(entry.operation)});
  }
  return ranks;
}

WaitReport explain_waits(const std::vector<RankSnapshot>& ranks) {
  WaitReport report;
  for (const RankSnapshot& rank : ranks) {
    report.ranks.push_back(line_of(rank));
    report.fingerprint += concat(static_cast<int>(rank.state), ":", rank.peer, " ");
    if (rank.state == RankState::kCollective) report.fingerprint += concat(rank.operation, ":", rank.call, " ");
  }
  const bool has_collective =
      std::ranges::any_of(ranks, [](const RankSnapshot& rank) { return rank.state == RankState::kCollective; });
  const std::vector<int> cycle = find_cycle(ranks);
  if (has_collective) {
    explain_collectives(ranks, report);
  } else if (!cycle.empty()) {
    explain_cycle(ranks, cycle, report);
  } else {
    report.summary = "the ranks wait for something that nobody will do";
    report.advice = "write down, for each rank, its calls in order, and find the first that has no partner";
  }
  return report;
}

}  // namespace lockstep::exercise
