#include <algorithm>
#include <array>
#include <string>

#include "07_launch_and_survive/4_join/join.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_07_4 {

using elastic::Refusal;

// How a process's call of join() is to end.
struct End {
  enum class Kind : std::int64_t { kJoined = 0, kRefused = 1, kTimedOut = 2, kStoreTimedOut = 3 };
  Kind kind = Kind::kJoined;
  std::int64_t refusal = -1;
  std::vector<std::int64_t> missing = {};

  bool operator==(const End&) const = default;
};

const End kJoined{};
End refused(Refusal refusal) { return {.kind = End::Kind::kRefused, .refusal = static_cast<std::int64_t>(refusal)}; }
End timed_out(std::vector<std::int64_t> missing) {
  return {.kind = End::Kind::kTimedOut, .missing = std::move(missing)};
}

struct Process {
  std::int64_t rank = 0, world_size = 1;
  End end = kJoined;
  std::int64_t generation = -1;  // -1: the newest
};

// Processes that call join() at the same time; in the order in which they come.
struct Round {
  std::int64_t newest_generation = 0;
  std::vector<Process> processes;
};

std::string shown_as(const End& end) {
  constexpr std::array kReasons = {"kOldGeneration", "kWorldSize", "kRankTaken"};
  switch (end.kind) {
    case End::Kind::kJoined:
      return "joins";
    case End::Kind::kRefused: {
      const auto reason = static_cast<std::size_t>(end.refusal);
      return concat("is refused, ", reason < kReasons.size() ? kReasons[reason] : "for no known reason");
    }
    case End::Kind::kTimedOut: {
      std::string ranks;
      for (const std::int64_t rank : end.missing) ranks += concat(ranks.empty() ? "" : ", ", rank);
      return concat("gives up at the deadline, missing: ", ranks.empty() ? "nobody" : ranks);
    }
    case End::Kind::kStoreTimedOut:
      return "lets the store's TimeoutError through";
  }
  return "ends in a way of its own";
}

// The ends of a round, from the columns of the answer.
std::vector<End> ends_in(Check& check, const Outcome& outcome, std::size_t round) {
  const auto column = [&](const char* name) {
    return check.numbers<std::int64_t>(outcome, 0, concat(name, "_", round));
  };
  const std::vector<std::int64_t> kinds = column("ends"), refusals = column("refusals"), missing = column("missing");
  check.expect(kinds.size() == refusals.size(), "the answer is not whole");
  std::vector<End> ends;
  auto next = missing.begin();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    End end{.kind = static_cast<End::Kind>(kinds[i]), .refusal = refusals[i]};
    for (; next != missing.end() && *next >= 0; ++next) end.missing.push_back(*next);
    if (next != missing.end()) ++next;
    ends.push_back(std::move(end));
  }
  return ends;
}

void check_round(Check& check, const Outcome& outcome, const std::vector<Round>& rounds, std::size_t number,
                 std::size_t first_name) {
  const std::vector<End> ends = ends_in(check, outcome, number);
  const auto started = check.numbers<std::int64_t>(outcome, 0, concat("started_", number));
  const Round& round = rounds[number];
  check.expect(ends.size() == round.processes.size() && started.size() == ends.size(), "not every process has ended");
  std::vector<std::string> calls;
  for (const std::string& line : outcome.ranks.front().remarks)
    if (line.starts_with(concat("round ", number, ","))) calls.push_back(line);
  std::int64_t members = 0;  // bit i: process i belongs to those who join
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (round.processes[i].end == kJoined) members |= std::int64_t{1} << i;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Process& process = round.processes[i];
    const std::int64_t generation = process.generation < 0 ? round.newest_generation : process.generation;
    const std::string who = concat("process ", first_name + i, ", rank ", process.rank, " of ", process.world_size,
                                   ", generation ", generation, " (the newest is ", round.newest_generation, ")");
    if (ends[i] != process.end)
      check.wrong(concat(who, ": expected that it ", shown_as(process.end), "; it ", shown_as(ends[i])), "", calls);
    if (process.end == kJoined && (started[i] & members) != members)
      check.wrong(concat(who, " has joined before all ranks have come"), "", calls);
  }
}

void check_rounds(Check& check, const std::vector<Round>& rounds, bool alternates) {
  const Outcome& outcome = check.run({.question = [&](int) {
    std::vector<std::int64_t> rows, newest;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      newest.push_back(rounds[i].newest_generation);
      for (const Process& process : rounds[i].processes)
        rows.insert(rows.end(), {static_cast<std::int64_t>(i), process.rank, process.world_size,
                                 process.generation < 0 ? rounds[i].newest_generation : process.generation});
    }
    return nlohmann::json{{"processes", to_message(std::span<const std::int64_t>(rows))},
                          {"newest", to_message(std::span<const std::int64_t>(newest))},
                          {"alternates", alternates},
                          {"asks_for_missing", false}};
  }});
  std::size_t first_name = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    check_round(check, outcome, rounds, i, first_name);
    first_name += rounds[i].processes.size();
  }
}

void check_missing(Check& check) {
  const Outcome& outcome = check.run({.question = [](int) { return nlohmann::json{{"asks_for_missing", true}}; }});
  const auto missing = check.numbers<std::int64_t>(outcome, 0, "missing");
  check.expect(!check.get<bool>(outcome, 0, "has_waited"),
               "missing_ranks() calls wait(), so it waits for the ranks that are missing",
               "try_get() returns at once, whether the key is there or not");
  check.expect(missing == std::vector<std::int64_t>{0, 1, 2},
               "nobody has come yet, and missing_ranks() does not name all three ranks");
}

// One process after the other, each until it waits; and then a call of each in turn.
void check_both(Check& check, const std::vector<Round>& rounds) {
  for (const bool alternates : {false, true}) check_rounds(check, rounds, alternates);
}

Process of_old(std::int64_t rank, std::int64_t world_size, std::int64_t generation) {
  return {.rank = rank, .world_size = world_size, .end = refused(Refusal::kOldGeneration), .generation = generation};
}

// Generations at random: ranks in any order, some of them missing, and others that do not belong there.
class RandomRounds {
 public:
  RandomRounds(std::uint64_t seed, std::uint64_t number) : random_(seed, number) {}

  std::vector<Round> make() {
    std::vector<Round> rounds;
    for (std::int64_t generation = below(12), i = 0; i < 4; ++i) {
      rounds.push_back(round(generation));
      generation += 1 + below(2);
    }
    return rounds;
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.next_below(static_cast<std::uint64_t>(bound)));
  }

  Round round(std::int64_t generation) {
    const std::int64_t world_size = 2 + below(5);
    Round made{.newest_generation = generation, .processes = {}};
    std::vector<std::int64_t> missing;
    for (std::int64_t rank = 0; rank < world_size; ++rank) {
      if (made.processes.size() > 0 && below(8) == 0)
        missing.push_back(rank);
      else
        made.processes.push_back({.rank = rank, .world_size = world_size});
    }
    for (Process& process : made.processes)
      if (!missing.empty()) process.end = timed_out(missing);
    for (std::size_t left = made.processes.size(); left > 1; --left)
      std::swap(made.processes[left - 1], made.processes[random_.next_below(left)]);
    const std::int64_t taken = made.processes.front().rank;
    // Behind the others, which are the first in every order of calls.
    if (below(2) == 0)
      made.processes.push_back({.rank = taken, .world_size = world_size, .end = refused(Refusal::kRankTaken)});
    if (below(2) == 0)
      made.processes.push_back({.rank = taken, .world_size = world_size + 1, .end = refused(Refusal::kWorldSize)});
    if (generation > 0 && below(2) == 0)
      made.processes.push_back(of_old(below(world_size), world_size, below(generation)));
    return made;
  }

  PhiloxSequence random_;
};

void check_random_rounds(Check& check) {
  for (std::uint64_t number = 0; number < 15; ++number)
    check_both(check, RandomRounds(check.seed(), 740 + number).make());
}

}  // namespace checks_07_4

void judge_07_4(Examination& exam) {
  using namespace checks_07_4;
  const Round three{.newest_generation = 0, .processes = {{0, 3}, {1, 3}, {2, 3}}};
  exam.check("one rank", [](Check& check) { check_both(check, {{0, {{0, 1}}}}); });
  exam.check("3 ranks, one after the other", [&](Check& check) {
    check_rounds(check, {three}, false);
    check_rounds(check, {{0, {{2, 3}, {0, 3}, {1, 3}}}}, false);
  });
  exam.check("3 ranks, all at once", [&](Check& check) { check_rounds(check, {three}, true); });
  exam.check("a rank does not come", [](Check& check) {
    const End one_is_missing = timed_out({1});
    check_both(check, {{0, {{0, 3, one_is_missing}, {2, 3, one_is_missing}}}});
  });
  exam.check("several ranks do not come", [](Check& check) {
    const End missing = timed_out({0, 2, 5});
    check_both(check, {{0, {{1, 6, missing}, {4, 6, missing}, {3, 6, missing}}}});
  });
  exam.check("the next generations in the same store", [&](Check& check) {
    check_both(check, {three, {1, {{0, 2}, {1, 2}}}, {2, {{3, 4}, {2, 4}, {1, 4}, {0, 4}}}});
  });
  exam.check("a rank of an older generation", [&](Check& check) {
    check_both(check, {three, {1, {of_old(1, 3, 0), {0, 3}, {1, 3}, of_old(2, 3, 0), {2, 3}}}});
  });
  exam.check("a rank of generation 9 in generation 10", [](Check& check) {
    check_both(check, {{9, {{0, 2}, {1, 2}}}, {10, {of_old(1, 2, 9), {0, 2}, {1, 2}}}});
  });
  exam.check("rank 12 of generation 3, and rank 1 of generation 23", [](Check& check) {
    Round many{.newest_generation = 3, .processes = {}};
    for (std::int64_t rank = 0; rank < 13; ++rank) many.processes.push_back({.rank = rank, .world_size = 13});
    check_both(check, {many, {23, {{0, 2}, {1, 2}}}});
  });
  exam.check("two processes with the same rank", [](Check& check) {
    const Process second{.rank = 1, .world_size = 3, .end = refused(Refusal::kRankTaken)};
    check_both(check, {{0, {{0, 3}, {1, 3}, second, {2, 3}}}});
  });
  exam.check("two processes with the same rank, and one rank is missing", [](Check& check) {
    const End missing = timed_out({2});
    const Process second{.rank = 1, .world_size = 3, .end = refused(Refusal::kRankTaken)};
    check_both(check, {{0, {{0, 3, missing}, {1, 3, missing}, second}}});
  });
  exam.check("a process with another world size", [](Check& check) {
    const Process other{.rank = 1, .world_size = 2, .end = refused(Refusal::kWorldSize)};
    check_both(check, {{0, {{0, 3}, other, {1, 3}, {2, 3}}}});
  });
  exam.check("missing_ranks() waits for nobody", check_missing);
  exam.full_check("generations at random", check_random_rounds);
}

}  // namespace lockstep::exercise
