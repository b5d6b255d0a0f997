#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_02_4 {

// In the buffer for what arrives, before the call.
constexpr float kNothing = -1;

constexpr std::size_t kManyValues = 20'000;  // many times as many as the smallest buffers hold

// @param dead  A rank that has died before; -1: none.
const Outcome& shift_once(Check& check, TrialOptions options, std::size_t count, int dead = -1) {
  options.question = [&](int rank) {
    const std::vector<float> outgoing = position_values(rank, count), incoming(count, kNothing);
    return nlohmann::json{{"outgoing", to_message(std::span<const float>(outgoing))},
                          {"incoming", to_message(std::span<const float>(incoming))},
                          {"dead", dead}};
  };
  if (options.setting.empty()) options.setting = concat(options.world_size, " ranks");
  if (dead >= 0) options.setting += concat(", and rank ", dead, " has died");
  return check.run(options);
}

void check_shift(Check& check, const TrialOptions& options, std::size_t count) {
  const Outcome& outcome = shift_once(check, options, count);
  const int ranks = options.world_size;
  for (int rank = 0; rank < ranks; ++rank) {
    const int previous = (rank + ranks - 1) % ranks;
    const std::vector<float> sent = position_values(previous, count);
    check.compare(
        concat(ranks, ranks == 1 ? " rank" : " ranks", ": what rank ", rank, " received from rank ", previous),
        check.numbers<float>(outcome, rank, "incoming"), std::vector<double>(sent.begin(), sent.end()),
        {.explain = [&](std::size_t, double got, double) {
          return got == kNothing ? "nothing has arrived here" : explain_position(got, rank);
        }});
  }
  if (ranks == 1 || count == 0) return;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankOutcome& sent = outcome.ranks[static_cast<std::size_t>(rank)];
    if (sent.messages != 1 || sent.bytes_sent != count * sizeof(float))
      check.wrong(concat(ranks, " ranks: rank ", rank, " sent ", sent.messages, " messages with ", sent.bytes_sent,
                         " bytes together; it should send one of ", count * sizeof(float)));
  }
}

// With one rank dead, the ranks that wait for it are stuck, and so are those that wait for them. If ranks wait for
// their neighbours only, there is a pair of neighbours in the other half of the circle that does not notice. (Not with
// 4 ranks, if every third one receives first: three messages one after the other are all of that circle.)
void check_independence(Check& check, const Outcome& outcome, int dead) {
  const int ranks = static_cast<int>(outcome.ranks.size());
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != dead && check.get<bool>(outcome, rank, "has_arrived")) return;
  check.wrong(concat(ranks, " ranks, and rank ", dead,
                     " has died: none of the other messages got through, because each of "
                     "these ranks waits for one that waits for rank ",
                     dead),
              "let every second rank receive first, not just one");
}

// Every rank is dead once. All are tried before any is looked at, which tells more orders of the calls apart.
void check_independence(Check& check, int ranks) {
  std::vector<const Outcome*> outcomes;
  for (int dead = 0; dead < ranks; ++dead)
    outcomes.push_back(&shift_once(check, {.world_size = ranks, .has_small_buffers = true}, kManyValues, dead));
  for (int dead = 0; dead < ranks; ++dead) check_independence(check, *outcomes[static_cast<std::size_t>(dead)], dead);
}

}  // namespace checks_02_4

void judge_02_4(Examination& exam) {
  using namespace checks_02_4;
  exam.check("one rank is its own neighbour", [](Check& check) { check_shift(check, {.world_size = 1}, 5); });
  exam.check("4 ranks, 100 values", [](Check& check) { check_shift(check, {.world_size = 4}, 100); });
  exam.check("3 ranks, 100 values", [](Check& check) { check_shift(check, {.world_size = 3}, 100); });
  exam.check("2 ranks, no values", [](Check& check) { check_shift(check, {.world_size = 2}, 0); });
  exam.check("4 ranks, more values than the kernel's buffers hold",
             [](Check& check) { check_shift(check, {.world_size = 4, .has_small_buffers = true}, kManyValues); });
  exam.check("2 ranks, more values than the kernel's buffers hold",
             [](Check& check) { check_shift(check, {.world_size = 2, .has_small_buffers = true}, kManyValues); });
  exam.check("3 and 5 ranks, more values than the kernel's buffers hold", [](Check& check) {
    check_shift(check, {.world_size = 3, .has_small_buffers = true}, kManyValues);
    check_shift(check, {.world_size = 5, .has_small_buffers = true}, kManyValues);
  });
  exam.check("messages of every size", [](Check& check) {
    for (const std::size_t count : {400, 1200, 3000})
      check_shift(check, {.world_size = 4, .has_small_buffers = true}, count);
  });
  exam.check("ranks that are not neighbours do not wait for each other",
             [](Check& check) { check_independence(check, 6); });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_shift(check, {.world_size = 5, .most_at_once = 1}, 4001); });
  exam.full_check("9 ranks, each of them dead once", [](Check& check) { check_independence(check, 9); });
  exam.full_check("8 ranks, the third late", [](Check& check) {
    check_shift(check, {.world_size = 8, .has_small_buffers = true, .delayed_rank = 2}, 40'001);
  });
}

}  // namespace lockstep::exercise
