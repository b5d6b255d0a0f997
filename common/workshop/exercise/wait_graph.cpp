#include "exercise/wait_graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

bool is_waiting(const RankSnapshot& rank) {
  return rank.state != RankState::kStarting && rank.state != RankState::kComputing &&
         rank.state != RankState::kFinished;
}

// False for an exchange with both directions left.
bool is_receiving(const RankSnapshot& rank) {
  return rank.state == RankState::kReceiving ||
         (rank.state == RankState::kExchanging && rank.operation == kRestReceives);
}

bool has_sending_left(const RankSnapshot& rank) {
  return rank.state == RankState::kExchanging && rank.operation == kRestSends;
}

std::string verb_of(const RankSnapshot& rank) {
  if (has_sending_left(rank)) return "sends to";
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

// The ranks of a cycle, each waiting for the next; empty if there is none. A rank waits for one peer, so following the
// peers from any rank ends in a cycle or outside of the graph.
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
  } else if (std::ranges::all_of(cycle, [&](int rank) { return is_receiving(ranks[rank]); })) {
    report.summary += concat(": ", count_of(cycle.size()), " have sent, but nothing comes from where they receive");
    report.advice = "for each message, compare the rank that it is sent to with the rank that receives it";
  } else {
    report.advice = "write down, for each rank, its calls in order, and find the first that has no partner";
  }
}

// True if `rank` can still receive from, or send to, the peer that it waits for.
bool may_meet(const RankSnapshot& rank, const RankSnapshot& peer) {
  if (peer.state == RankState::kExchanging && !is_receiving(peer) && !has_sending_left(peer)) return true;
  if (peer.peer != rank.rank) return false;
  return is_receiving(rank) ? peer.state == RankState::kSending || has_sending_left(peer) : is_receiving(peer);
}

// Finds a partly received message whose sender is doing something else: the two ends disagree on its length.
// @return  True if there is one.
bool explain_lengths(const std::vector<RankSnapshot>& ranks, WaitReport& report) {
  for (const RankSnapshot& rank : ranks) {
    const bool is_in_part = rank.bytes_done > 0 && rank.bytes_done < rank.bytes;
    if (!is_in_part || !(is_receiving(rank) || has_sending_left(rank))) continue;
    if (rank.peer < 0 || rank.peer >= static_cast<int>(ranks.size()) || may_meet(rank, ranks[rank.peer])) continue;
    report.fingerprint += "lengths ";
    if (is_receiving(rank)) {
      report.summary = concat("rank ", rank.rank, " waits for ", rank.bytes, " bytes from rank ", rank.peer,
                              ", which has sent ", rank.bytes_done, " and sends no more");
      report.advice =
          "a message is received into more memory than it fills: compare the two lengths in this step, on both ranks";
    } else {
      report.summary = concat("rank ", rank.rank, " sends ", rank.bytes, " bytes to rank ", rank.peer,
                              ", which takes no more of them than ", rank.bytes_done);
      report.advice =
          "a message is longer than the memory it is received into: compare the two lengths in this step, on both "
          "ranks";
    }
    return true;
  }
  return false;
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
    // A judged program may write anything here, even unterminated text.
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
  } else if (explain_lengths(ranks, report)) {
    return report;
  } else if (!cycle.empty()) {
    explain_cycle(ranks, cycle, report);
  } else {
    report.summary = "the ranks wait for something that nobody will do";
    report.advice = "write down, for each rank, its calls in order, and find the first that has no partner";
  }
  return report;
}

std::string advice_on_exception(const RankSnapshot& rank, const std::string& what) {
  if (what.find("this rank is alone") != std::string::npos)
    return "with one rank there is nothing to send or to receive: how often does the loop run?";
  if (what.find("nccl") != std::string::npos && what.find("a CUDA call failed") != std::string::npos)
    return "is it memory of the device, as long as the call is told? NCCL counts elements, not bytes";
  if (what.find(kClosedConnection) == std::string::npos) return "";
  if (what.find("collective number") != std::string::npos)
    return "that rank had returned already: every rank has to make every collective call, so none may come after an "
           "early return, or in a branch that only some ranks take";
  const bool is_one_way = rank.operation.empty() || rank.operation == kRestReceives;
  if (what.starts_with("receiving") && is_one_way && rank.bytes_done > 0 && rank.bytes_done < rank.bytes)
    return concat("that rank had sent ", rank.bytes_done, " of the ", rank.bytes,
                  " bytes that are waited for, and returned: compare the two lengths in this step, on both ranks");
  if (what.find(kUnreadBytes) != std::string::npos)
    return "that rank had returned, and left bytes unread: did it not receive a message, or was one longer than the "
           "memory it was received into?";
  return "that rank had returned already: count the messages that both ranks expect, and compare their lengths";
}

}  // namespace lockstep::exercise
