#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_01_3 {

std::uint64_t total_bytes(const Outcome& outcome) {
  std::uint64_t sum = 0;
  for (const RankOutcome& rank : outcome.ranks) sum += rank.bytes_sent;
  return sum;
}

const Outcome& check_broadcast(Check& check, TrialOptions options, int root, std::size_t count) {
  const int ranks = options.world_size;
  options.setting = concat(ranks, ranks == 1 ? " rank" : " ranks", ", root ", root);
  options.question = [&](int rank) {
    const std::vector<float> values = position_values(rank, count);
    return nlohmann::json{{"values", to_message(std::span<const float>(values))}, {"root", root}};
  };
  const Outcome& outcome = check.run(options);
  const std::vector<float> of_root = position_values(root, count);
  const std::vector<double> expected(of_root.begin(), of_root.end());
  for (int rank = 0; rank < ranks; ++rank)
    check.compare(concat(options.setting, ": rank ", rank, "'s values"), check.numbers<float>(outcome, rank, "values"),
                  expected, {.explain = [&](std::size_t, double got, double) { return explain_position(got, rank); }});
  const std::uint64_t once = count * sizeof(float), sent = total_bytes(outcome);
  if (sent != once * static_cast<std::uint64_t>(ranks - 1))
    check.wrong(concat(options.setting, ": all ranks together sent ", sent, " bytes; the values, once to each of ",
                       ranks - 1, " ranks, are ", once * static_cast<std::uint64_t>(ranks - 1)),
                "find the rank that sends to one that does not receive");
  return outcome;
}

// "0: -> 1, 2, 4", one line per rank that sends.
std::vector<std::string> picture_of_tree(const std::vector<std::vector<std::int32_t>>& sent_to) {
  std::vector<std::string> lines = {"who sends to whom, in this order:"};
  for (std::size_t rank = 0; rank < sent_to.size(); ++rank) {
    if (sent_to[rank].empty()) continue;
    std::string line = concat("rank ", rank, " -> ");
    for (std::size_t i = 0; i < sent_to[rank].size(); ++i) line += concat(i == 0 ? "" : ", ", sent_to[rank][i]);
    lines.push_back(line);
  }
  return lines;
}

// A rank that has the values since round k sends its messages in the rounds k, k + 1, ...
void check_rounds(Check& check, int ranks, int root) {
  const Outcome& outcome = check_broadcast(check, {.world_size = ranks}, root, 3);
  std::vector<std::vector<std::int32_t>> sent_to;
  for (int rank = 0; rank < ranks; ++rank) sent_to.push_back(check.numbers<std::int32_t>(outcome, rank, "sent_to"));
  std::vector<int> known_after(static_cast<std::size_t>(ranks), -1);
  known_after[static_cast<std::size_t>(root)] = 0;
  std::vector<int> queue = {root};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const auto at = static_cast<std::size_t>(queue[next]);
    for (std::size_t i = 0; i < sent_to[at].size(); ++i) {
      const auto peer = static_cast<std::size_t>(sent_to[at][i]);
      if (peer >= known_after.size() || known_after[peer] >= 0) continue;
      known_after[peer] = known_after[at] + static_cast<int>(i) + 1;
      queue.push_back(static_cast<int>(peer));
    }
  }
  const auto latest = std::ranges::max_element(known_after);
  const int least = std::bit_width(static_cast<unsigned>(ranks - 1));
  const auto fail = [&](const std::string& summary, const std::string& next) {
    throw CheckFailed{{.summary = summary, .evidence = picture_of_tree(sent_to), .next = next}};
  };
  if (queue.size() < static_cast<std::size_t>(ranks))
    fail("the rounds cannot be counted: it is not clear who sends to whom",
         "call place.link(peer) right before each send, not earlier");
  if (*latest > least)
    fail(concat(ranks, " ranks, root ", root, ": rank ", latest - known_after.begin(), " has the values after ",
                *latest, " rounds; ", least, " are enough"),
         "in each round, let every rank that has the values send them");
}

bool has_failed(const Examination& exam) {
  return std::ranges::any_of(exam.results(), [](const CheckResult& result) { return result.failure.has_value(); });
}

// Runs a check. Its failure gets `next` for the one thing to try if all checks before it have passed.
void check_after(const Examination& exam, const std::string& next, const std::function<void()>& check) {
  try {
    check();
  } catch (CheckFailed& failed) {
    if (!has_failed(exam) && failed.failure.verdict != VerdictClass::kTodo) failed.failure.next = next;
    throw;
  }
}

constexpr const char* kPowersOfTwoWork =
    "with 1, 2 and 4 ranks it works, so it takes the number of ranks for a power of two: which distances does your "
    "loop "
    "visit with 5, and is there always a partner?";

}  // namespace checks_01_3

void judge_01_3(Examination& exam) {
  using namespace checks_01_3;
  exam.check("one rank has nothing to do", [](Check& check) { check_broadcast(check, {.world_size = 1}, 0, 5); });
  exam.check("2 ranks", [](Check& check) { check_broadcast(check, {.world_size = 2}, 0, 4); });
  exam.check("4 ranks", [](Check& check) { check_broadcast(check, {.world_size = 4}, 0, 4); });
  exam.check("5 ranks: not a power of two", [&](Check& check) {
    check_after(exam, kPowersOfTwoWork, [&] { check_broadcast(check, {.world_size = 5}, 0, 4); });
  });
  exam.check("4 ranks, every root", [&](Check& check) {
    check_after(exam,
                "with root 0 it works: count the ranks from the root on, number = (rank - root + world_size) % "
                "world_size; number n is then the rank (n + root) % world_size",
                [&] {
                  // Root 2 first: half way round, adding the root and subtracting it are the same.
                  for (const int root : {0, 2, 1, 3}) check_broadcast(check, {.world_size = 4}, root, 4);
                });
  });
  exam.check("7 ranks, root 5", [&](Check& check) {
    check_after(exam,
                "it works with root 0, and with 4 ranks and any root: how are ranks counted from the root on if their "
                "number is not a power of two?",
                [&] { check_broadcast(check, {.world_size = 7}, 5, 1000); });
  });
  exam.check("no values", [](Check& check) { check_broadcast(check, {.world_size = 3}, 1, 0); });
  exam.check("as few rounds as possible", [](Check& check) {
    for (const auto& [ranks, root] : {std::pair(3, 0), {4, 1}, {6, 0}, {8, 3}}) check_rounds(check, ranks, root);
  });
  exam.check("more values than the kernel's buffers hold",
             [](Check& check) { check_broadcast(check, {.world_size = 3, .has_small_buffers = true}, 2, 60'000); });
  exam.full_check("16 ranks, and 13", [](Check& check) {
    check_rounds(check, 16, 11);
    check_rounds(check, 13, 12);
  });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_broadcast(check, {.world_size = 6, .most_at_once = 1}, 4, 301); });
  exam.full_check("8 ranks, the root late", [](Check& check) {
    check_broadcast(check, {.world_size = 8, .has_small_buffers = true, .delayed_rank = 6}, 6, 40'001);
  });
}

}  // namespace lockstep::exercise
