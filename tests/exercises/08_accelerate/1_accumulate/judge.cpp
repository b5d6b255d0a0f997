#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_08_1 {

using Numbers = std::vector<std::int64_t>;

// A training run: epochs of equally many micro-batches, in windows of `steps`.
struct Scenario {
  int world_size = 1;
  std::int64_t steps = 1, micro_batches = 1, epochs = 1;

  [[nodiscard]] std::int64_t total() const { return micro_batches * epochs; }
  // Which micro-batch of its window it is, from 1.
  [[nodiscard]] std::int64_t number_in_window(std::int64_t m) const { return m % micro_batches % steps + 1; }
  [[nodiscard]] bool ends_window(std::int64_t m) const {
    return number_in_window(m) == steps || m % micro_batches == micro_batches - 1;
  }
};

// The contribution of rank r's micro-batch before it is weighted: its share in the mean over window and ranks is 8^r.
double contribution(const Scenario& scenario, int rank) {
  return static_cast<double>(scenario.steps) * scenario.world_size * std::pow(8.0, rank);
}

std::string describe(const Scenario& scenario, bool clears_first) {
  return concat("windows of ", scenario.steps, ", epochs of ", scenario.micro_batches, " micro-batches, zero_grad() ",
                clears_first ? "before backward" : "after step()");
}

// An explanation of a wrong element of an update's gradient. `m`: whose gradient it is; it belongs to the update's
// window or not.
std::string explain(const Scenario& scenario, std::int64_t m, std::int64_t end, double got, double expected) {
  const auto is = [&](double value) { return std::abs(got - value) <= 1e-5 * std::abs(value); };
  if (expected == 0)
    return concat("the gradient of micro-batch ", m, " is in it, which belongs to ", m > end ? "a later" : "an earlier",
                  " window");
  if (got == 0 && m == end) return concat("the gradient of micro-batch ", m, ", the window's last, is missing");
  if (got == 0) return concat("the gradient of micro-batch ", m, " has been cleared before the update that needs it");
  const auto steps = static_cast<double>(scenario.steps), ranks = static_cast<double>(scenario.world_size);
  if (scenario.steps > 1 && is(expected * steps))
    return concat("it has not been divided by the ", steps, " micro-batches");
  if (scenario.world_size > 1 && is(expected * ranks))
    return concat("that is the sum over the ranks; the mean is the sum divided by ", ranks);
  const auto in_window = static_cast<double>(scenario.number_in_window(end));
  if (in_window < steps && is(expected * steps / in_window))
    return concat("it has been divided by the ", in_window, " micro-batches of this short window instead of ", steps);
  for (int rank = 0; rank < scenario.world_size; ++rank)
    if (is(contribution(scenario, rank) / steps)) return concat("that is rank ", rank, "'s own gradient, not the mean");
  return concat("it is made of the gradients of micro-batch ", m);
}

// The weights that people give to the micro-batches begin ... end of a window. `mean`: over the ranks.
std::optional<ArrayKnowledge> knowledge_of(const Scenario& scenario, std::int64_t begin, std::int64_t end,
                                           double mean) {
  const auto steps = static_cast<double>(scenario.steps), ranks = static_cast<double>(scenario.world_size);
  const auto in_window = static_cast<double>(end - begin + 1);
  const auto weighted = [=](std::string what, auto weight) {
    return WrongFormula{std::move(what), [=] {
                          std::vector<double> values(static_cast<std::size_t>(scenario.total()));
                          for (std::int64_t m = begin; m <= end; ++m)
                            values[static_cast<std::size_t>(m)] = mean * steps * weight(m - begin + 1);
                          return values;
                        }};
  };
  ArrayKnowledge knowledge;
  knowledge.formulas = {
      weighted("the weight is 0, as a quotient of two integers is", [](std::int64_t) { return 0.0; }),
      weighted("the weight is 1 / (micro-batches so far), which is 1 for a window's first: it is 1 / steps for all",
               [](std::int64_t number) { return 1 / static_cast<double>(number); }),
      weighted("the micro-batches are added up, not divided by gradient_accumulation_steps",
               [](std::int64_t) { return 1.0; }),
      weighted("a short window is divided by its own number of micro-batches",
               [=](std::int64_t) { return 1 / in_window; }),
      weighted("the gradient is divided by gradient_accumulation_steps twice",
               [=](std::int64_t) { return 1 / steps / steps; }),
      weighted("the sum over the ranks is not divided by their number", [=](std::int64_t) { return ranks / steps; }),
      weighted("the sum over the ranks is divided by their number twice",
               [=](std::int64_t) { return 1 / steps / ranks; })};
  return knowledge;
}

void check_windows(Check& check, const Scenario& scenario, const Outcome& outcome, int rank,
                   const std::string& situation) {
  const Numbers syncs = check.numbers<std::int64_t>(outcome, rank, "syncs"),
                updates = check.numbers<std::int64_t>(outcome, rank, "updates");
  std::int64_t ended = 0;
  for (std::int64_t m = 0; m < scenario.total(); ++m) {
    const auto at = static_cast<std::size_t>(m);
    const bool ends = scenario.ends_window(m);
    const std::string place =
        concat(situation, ": micro-batch ", m, " (number ", scenario.number_in_window(m), " of its window",
               m % scenario.micro_batches == scenario.micro_batches - 1 ? ", the last of its epoch)" : ")");
    if ((syncs.at(at) != 0) != ends)
      check.wrong(concat(place, ends ? " ends its window" : " does not end its window", ", but sync_gradients() is ",
                         ends ? "false" : "true", " on rank ", rank));
    ended += ends ? 1 : 0;
    if (updates.at(at) != ended)
      check.wrong(
          concat(place, ": updates on rank ", rank, " by then: ", updates.at(at), "; complete windows: ", ended));
  }
}

void check_gradients(Check& check, const Scenario& scenario, const Outcome& outcome, int rank,
                     const std::string& situation) {
  const std::vector<float> used = check.numbers<float>(outcome, rank, "used");
  double mean = 0;
  for (int r = 0; r < scenario.world_size; ++r) mean += std::pow(8.0, r);
  const auto count = static_cast<std::size_t>(scenario.total());
  std::int64_t begin = 0, update = 0;  // of the window
  for (std::int64_t end = 0; end < scenario.total(); ++end) {
    if (!scenario.ends_window(end)) continue;
    std::vector<double> expected(count);
    for (std::int64_t m = begin; m <= end; ++m) expected[static_cast<std::size_t>(m)] = mean;
    // Two multiplications and a division in float: three relative errors of at most 2^-24 each, and as many of the sum.
    check.compare(
        concat(situation, ": rank ", rank, "'s gradient in update ", update),
        std::span(used).subspan(static_cast<std::size_t>(update) * count, count), expected,
        {.relative = 1e-6,
         .explain = [&](std::size_t i, double got,
                        double wanted) { return explain(scenario, static_cast<std::int64_t>(i), end, got, wanted); },
         .knowledge = knowledge_of(scenario, begin, end, mean)});
    begin = end + 1;
    ++update;
  }
}

void check_traffic(Check& check, const Scenario& scenario, const Outcome& outcome, int rank) {
  const Numbers sent = check.numbers<std::int64_t>(outcome, rank, "sent");
  std::int64_t windows = 0;
  for (std::int64_t m = 0; m < scenario.total(); ++m) {
    windows += scenario.ends_window(m) ? 1 : 0;
    if (sent.at(static_cast<std::size_t>(m)) != windows)
      check.wrong(concat("all-reduces that rank ", rank, " has issued by the end of micro-batch ", m, ": ",
                         sent[static_cast<std::size_t>(m)], "; windows that are complete by then: ", windows),
                  "send the gradient once per window, in the backward of its last micro-batch");
  }
}

// With zero_grad() at the end of the loop's body, then at its beginning.
void check_loop(Check& check, const Scenario& scenario) {
  for (const bool clears_first : {false, true}) {
    const Outcome& outcome = check.run({.world_size = scenario.world_size, .question = [&](int rank) {
                                          return nlohmann::json{{"steps", scenario.steps},
                                                                {"micro_batches", scenario.micro_batches},
                                                                {"epochs", scenario.epochs},
                                                                {"clears_first", clears_first},
                                                                {"value", contribution(scenario, rank)}};
                                        }});
    const std::string situation = describe(scenario, clears_first);
    require_awaited(check, outcome, scenario.world_size);
    for (int rank = 0; rank < scenario.world_size; ++rank) {
      check_windows(check, scenario, outcome, rank, situation);
      check_gradients(check, scenario, outcome, rank, situation);
      check_traffic(check, scenario, outcome, rank);
    }
  }
}

}  // namespace checks_08_1

void judge_08_1(Examination& exam) {
  using namespace checks_08_1;
  exam.check("one rank, one micro-batch per update",
             [](Check& check) { check_loop(check, {.steps = 1, .micro_batches = 3}); });
  exam.check("one rank, windows of 3 micro-batches",
             [](Check& check) { check_loop(check, {.steps = 3, .micro_batches = 6}); });
  exam.check("2 ranks, windows of 3",
             [](Check& check) { check_loop(check, {.world_size = 2, .steps = 3, .micro_batches = 6}); });
  exam.check("3 ranks, and the last window of each epoch is short",
             [](Check& check) { check_loop(check, {.world_size = 3, .steps = 4, .micro_batches = 6, .epochs = 2}); });
  exam.check("epochs that are shorter than a window",
             [](Check& check) { check_loop(check, {.world_size = 2, .steps = 5, .micro_batches = 3, .epochs = 3}); });
  exam.full_check("many sizes, up to 5 ranks", [](Check& check) {
    PhiloxSequence random(check.seed(), 81);
    for (int round = 0; round < 8; ++round)
      check_loop(check, {.world_size = 1 + round % 5,
                         .steps = static_cast<std::int64_t>(1 + random.next_below(7)),
                         .micro_batches = static_cast<std::int64_t>(1 + random.next_below(12)),
                         .epochs = 3});
  });
}

}  // namespace lockstep::exercise
