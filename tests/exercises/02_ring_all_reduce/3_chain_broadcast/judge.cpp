#include <algorithm>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_02_3 {

struct Case {
  TrialOptions options;
  std::int64_t count;
  std::int64_t segment_count;
  int root = 0;
};

nlohmann::json question_of(const Case& c, int rank, const char* what, bool is_cut_off = false) {
  return {{"what", what},
          {"values", to_message(std::span<const float>(position_values(rank, static_cast<std::size_t>(c.count))))},
          {"root", c.root},
          {"segment_count", c.segment_count},
          {"is_cut_off", is_cut_off}};
}

constexpr const char* kEmptyMessage =
    "no message is empty: stop when all values are sent, also if their number is a multiple of segment_count";

void check_messages(Check& check, const Case& c, const Outcome& outcome) {
  const auto segments = static_cast<std::uint64_t>((c.count + c.segment_count - 1) / c.segment_count);
  const int ranks = c.options.world_size;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankOutcome& got = outcome.ranks[static_cast<std::size_t>(rank)];
    const bool is_sender = (rank + 1) % ranks != c.root;
    const std::uint64_t bytes = is_sender ? static_cast<std::uint64_t>(c.count) * sizeof(float) : 0;
    const std::uint64_t messages = is_sender ? segments : 0;
    if (got.bytes_sent == bytes && got.messages == messages) continue;
    check.wrong(
        concat(c.options.setting, ": rank ", rank, " sent ", got.bytes_sent, " bytes in ", got.messages, " messages; ",
               is_sender ? "the values in segments are " : "as the last one it sends ", bytes, " bytes in ", messages),
        got.bytes_sent == bytes && got.messages > messages ? kEmptyMessage : "");
  }
}

void check_broadcast(Check& check, Case c) {
  const int ranks = c.options.world_size;
  c.options.question = [&](int rank) { return question_of(c, rank, "broadcast"); };
  c.options.counts_messages = true;
  c.options.setting =
      concat(ranks, ranks == 1 ? " rank" : " ranks", ", root ", c.root, ", segments of ", c.segment_count);
  const Outcome& outcome = check.run(c.options);
  const std::vector<float> of_root = position_values(c.root, static_cast<std::size_t>(c.count));
  const std::vector<double> expected(of_root.begin(), of_root.end());
  for (int rank = 0; rank < ranks; ++rank)
    check.compare(concat(c.options.setting, ": rank ", rank, "'s values"),
                  check.numbers<float>(outcome, rank, "values"), expected,
                  {.explain = [&](std::size_t, double got, double) { return explain_position(got, rank); }});
  if (ranks > 1) check_messages(check, c, outcome);
}

// Rank 0 sends the first segments and leaves, rank 2 counts what comes through: only rank 1 is the learner's.
void check_pipeline(Check& check, std::int64_t sent_segments) {
  Case c{{.world_size = 3}, 40, 8};
  const std::int64_t sent = sent_segments * c.segment_count;
  c.options.question = [&](int rank) {
    if (rank == 2) return nlohmann::json{{"what", "count what arrives"}};
    nlohmann::json question = question_of(c, rank, rank == 0 ? "send some segments" : "broadcast", true);
    if (rank == 0) question["sent"] = sent;
    return question;
  };
  const std::vector<float> arrived = check.numbers<float>(check.run(c.options), 2, "values");
  if (static_cast<std::int64_t>(arrived.size()) == sent) return;
  check.wrong(concat("rank 0 sent the first ", sent_segments == 1 ? "" : concat(sent_segments, " "),
                     sent_segments == 1 ? "segment" : "segments", " of 5 (", sent,
                     " values), then nothing more; rank 1 should pass on all of it, but rank 2 received ",
                     arrived.size(), " values"),
              "pass a segment on before you wait for the next one");
}

// What chain_steps() is asked, and what it should say.
struct Steps {
  std::int64_t count, segment_count;
  int ranks;
  std::int64_t expected;
};

// All are asked before any answer is looked at: what one of them leaves open, another decides.
void check_steps(Check& check, const std::vector<Steps>& all) {
  std::vector<std::int64_t> got;
  for (const auto& [count, segment_count, ranks, expected] : all) {
    const Outcome& outcome = check.run({.question = [&, c = count, s = segment_count, r = ranks](int) {
      return nlohmann::json{{"what", "count steps"}, {"count", c}, {"segment_count", s}, {"ranks", r}};
    }});
    got.push_back(check.get<std::int64_t>(outcome, 0, "steps"));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [count, segment_count, ranks, expected] = all[i];
    if (got[i] != expected)
      check.wrong(concat(count, " values in segments of ", segment_count, " on ", ranks,
                         ranks == 1 ? " rank" : " ranks", ": chain_steps() should be ", expected, ", got ", got[i]));
  }
}

// Segment by segment, link by link: a segment crosses a link once it is there and the link is free.
std::int64_t simulated_steps(std::int64_t segments, int ranks) {
  std::vector<std::int64_t> free_from(static_cast<std::size_t>(ranks - 1));
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < segments; ++i) {
    std::int64_t there = 0;
    for (std::int64_t& link : free_from) there = link = std::max(link, there) + 1;
    last = there;
  }
  return last;
}

void check_random_steps(Check& check) {
  const std::vector<float> random = random_floats(check.seed(), 0, 24);
  std::vector<Steps> all;
  for (std::size_t i = 0; i < random.size(); i += 3) {
    const std::int64_t count = 1 + static_cast<std::int64_t>(5000 * (random[i] + 1));
    const std::int64_t segment_count = 1 + static_cast<std::int64_t>(100 * (random[i + 1] + 1));
    const int ranks = 2 + static_cast<int>(30 * (random[i + 2] + 1));
    all.push_back({count, segment_count, ranks, simulated_steps((count + segment_count - 1) / segment_count, ranks)});
  }
  check_steps(check, all);
}

}  // namespace checks_02_3

void judge_02_3(Examination& exam) {
  using namespace checks_02_3;
  exam.check("one rank has nothing to do", [](Check& check) { check_broadcast(check, {{.world_size = 1}, 8, 4}); });
  exam.check("3 ranks, 2 segments", [](Check& check) { check_broadcast(check, {{.world_size = 3}, 8, 4}); });
  exam.check("2 ranks, 1 segment", [](Check& check) { check_broadcast(check, {{.world_size = 2}, 4, 4}); });
  exam.check("4 ranks, a last segment that is shorter", [](Check& check) {
    check_broadcast(check, {{.world_size = 4}, 10, 4});
  });
  exam.check("3 ranks, every root", [](Check& check) {
    for (int root = 0; root < 3; ++root) check_broadcast(check, {{.world_size = 3}, 10, 3, root});
  });
  exam.check("one segment, longer than the values", [](Check& check) {
    check_broadcast(check, {{.world_size = 3}, 5, 100, 1});
    check_broadcast(check, {{.world_size = 3}, 1, 100, 1});
    check_broadcast(check, {{.world_size = 3}, 0, 100, 1});
  });
  exam.check("a segment is passed on before the next one arrives", [](Check& check) {
    check_pipeline(check, 3);
    check_pipeline(check, 1);
  });
  exam.check("more values than the kernel's buffers hold", [](Check& check) {
    check_broadcast(check, {{.world_size = 5, .has_small_buffers = true}, 120'000, 32'768, 2});
  });
  exam.check("the steps of small examples", [](Check& check) {
    check_steps(check, {{8, 8, 2, 1},
                        {8, 4, 2, 2},
                        {10, 4, 2, 3},
                        {8, 8, 5, 4},
                        {8, 8, 3, 2},
                        {100, 1, 8, 106},
                        {100, 1, 1, 0},
                        {0, 4, 8, 0}});
  });
  exam.check("the steps of others", check_random_steps);
  exam.check("3,000,000,002 steps: more than an int holds, or a loop can count", [](Check& check) {
    check_steps(check, {{6'000'000'000, 2, 4, 3'000'000'002}});
  });
  exam.full_check("a byte at a time", [](Check& check) {
    check_broadcast(check, {{.world_size = 4, .most_at_once = 1}, 301, 7, 3});
  });
  exam.full_check("8 ranks, the third late", [](Check& check) {
    check_broadcast(check, {{.world_size = 8, .has_small_buffers = true, .delayed_rank = 2}, 40'001, 1000, 5});
  });
}

}  // namespace lockstep::exercise
