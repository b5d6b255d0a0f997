#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "../../explanation.hpp"
#include "11_pipeline_parallel/2_predict_bubbles/predictions.hpp"
#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_11_2 {

using pipeline::Order;
using pipeline::PipelineRun;
using pipeline::Timeline;
using Numbers = std::vector<std::int64_t>;

constexpr std::array<const char*, 3> kOrderNames = {"kNaive", "kGpipe", "kOneForwardOneBackward"};

// A number that people get in place of the right one, and how.
using Known = std::pair<std::int64_t, std::string>;

// The step itself, played action by action.
Timeline played(Order order, const PipelineRun& run) {
  constexpr std::array kKinds = {pipeline::ScheduleKind::kNaive, pipeline::ScheduleKind::kGpipe,
                                 pipeline::ScheduleKind::kOneForwardOneBackward};
  pipeline::Costs costs;
  costs.stage_factors.assign(run.forward_units.begin(), run.forward_units.end());
  return pipeline::simulate(
      pipeline::make_schedule(kKinds.at(static_cast<std::size_t>(order)), static_cast<int>(run.forward_units.size()),
                              static_cast<int>(run.micro_batches)),
      costs);
}

std::vector<Known> known_units(Order order, const PipelineRun& run) {
  const std::int64_t m = run.micro_batches, p = std::ssize(run.forward_units),
                     sum = std::accumulate(run.forward_units.begin(), run.forward_units.end(), std::int64_t{0}),
                     most = std::ranges::max(run.forward_units), right = std::lround(played(order, run).duration());
  std::vector<Known> known = {
      {right - 1, "the last unit is not counted"},
      {right / 3, "only the forward pass is counted"},
      {right * 2 / 3, "a backward pass takes as long as a forward pass: it takes twice as long"}};
  if (order == Order::kNaive) {
    known.emplace_back(3 * (sum + (m - 1) * most),
                       "micro-batches follow one another: in the naive order one is back "
                       "before the next one begins");
    known.emplace_back(3 * sum, "a single micro-batch is counted");
    return known;
  }
  known.emplace_back(3 * m * sum, "a micro-batch begins when the one before it is back: that is the naive order");
  known.emplace_back(3 * (m + p) * most, "the pipeline fills for p units, not p - 1");
  known.emplace_back(3 * (m + p - 1) * most, "the first micro-batch takes as long on every rank as on the slowest one");
  known.emplace_back(3 * (m + p - 1) * sum / p, "every rank takes the mean of all ranks: the slowest one decides");
  known.emplace_back(3 * m * most, "the time in which the pipeline fills and empties is left out");
  if (order == Order::kOneForwardOneBackward)
    known.emplace_back((3 * m + p - 1) * most, "1F1B is idle only until the pipeline is full: it empties, too");
  return known;
}

std::vector<Known> known_held(Order order, const PipelineRun& run, std::int64_t rank) {
  const std::int64_t m = run.micro_batches, p = std::ssize(run.forward_units);
  std::vector<Known> known = {{m, "all micro-batches are held, as in GPipe"}};
  if (order == Order::kGpipe) known = {{1, "a micro-batch is gone before the next one comes, as in the naive order"}};
  if (order == Order::kOneForwardOneBackward) {
    known.emplace_back(p - rank, "more micro-batches are held than there are");
    known.emplace_back(std::min(m, p), "every rank holds as many as rank 0");
    known.emplace_back(std::min(m, p - 1 - rank),
                       "only the forward passes at the beginning are counted: one more comes");
    known.emplace_back(std::min(m, rank + 1), "the last rank holds most: it is the first one");
  }
  return known;
}

std::int64_t bytes_of(const PipelineRun& run, std::int64_t borders, std::int64_t tables) {
  return 4 * (borders * run.rows + tables * run.vocabulary) * run.channels;
}

// The messages of a step, one by one.
std::int64_t expected_bytes(const PipelineRun& run, std::int64_t rank) {
  const std::int64_t last = std::ssize(run.forward_units) - 1;
  std::int64_t borders = 0, tables = 0;
  for (std::int64_t i = 0; i < run.micro_batches; ++i) {
    if (rank != last) ++borders;
    if (rank != 0) ++borders;
  }
  if (last != 0 && (rank == 0 || rank == last)) ++tables;
  return bytes_of(run, borders, tables);
}

std::vector<Known> known_bytes(const PipelineRun& run, std::int64_t rank) {
  const std::int64_t last = std::ssize(run.forward_units) - 1, m = run.micro_batches,
                     neighbours = (rank != 0 ? 1 : 0) + (rank != last ? 1 : 0),
                     tables = last != 0 && (rank == 0 || rank == last) ? 1 : 0, right = expected_bytes(run, rank);
  return {{right / 4, "elements are counted, and each has 4 bytes"},
          {2 * right, "what a rank receives is counted too"},
          {bytes_of(run, neighbours * m, 0), "the table is left out"},
          {bytes_of(run, neighbours * m, tables * m), "the table is sent for every micro-batch: it is once a step"},
          {bytes_of(run, neighbours * m, 1), "every rank sends the table: only the first and the last one have it"},
          {bytes_of(run, neighbours, tables), "a single micro-batch is counted"},
          {bytes_of(run, 2 * m, tables), "the first and the last rank have neighbours on both sides"},
          {bytes_of(run, 2 * neighbours * m, tables), "each border is counted in both directions for one rank"},
          {bytes_of(run, rank != last ? m : 0, tables), "only the forward passes send"}};
}

std::string text_of(const PipelineRun& run) {
  std::string units;
  for (const std::int64_t count : run.forward_units) units += concat(units.empty() ? "" : ", ", count);
  return concat(run.forward_units.size(), run.forward_units.size() == 1 ? " rank" : " ranks", ", forward_units {",
                units, "}, ", run.micro_batches, run.micro_batches == 1 ? " micro-batch" : " micro-batches");
}

void compare(Check& check, const std::string& what, std::int64_t got, std::int64_t expected,
             const std::vector<Known>& known) {
  if (got == expected) return;
  std::vector<std::string> causes;
  for (const auto& [value, cause] : known)
    if (got == value) causes.push_back(cause);
  check.wrong(concat(what, " ", expected, "; got ", got, explanation_of(causes)));
}

void compare_bubble(Check& check, const std::string& what, double got, const PipelineRun& run,
                    const Timeline& timeline) {
  const double expected = timeline.idle_per_busy();
  const auto is_near = [](double a, double b) { return std::abs(a - b) <= 1e-9; };
  if (is_near(got, expected)) return;
  const bool is_share = is_near(got, expected / (1 + expected));
  const auto p = static_cast<double>(run.forward_units.size()), m = static_cast<double>(run.micro_batches);
  check.wrong(concat(what, " ", shown(expected), "; got ", shown(got),
                     is_share                      ? ": that is idle time divided by all time, and not by busy time"
                     : is_near(got, (p - 1) / m)   ? ": that is (p-1)/m, which holds for GPipe and 1F1B on equal ranks"
                     : got == std::floor(expected) ? ": a quotient of two integers has lost what comes after the point"
                                                   : ""));
}

bool has_equal_ranks(const PipelineRun& run) {
  return std::ranges::count(run.forward_units, run.forward_units.front()) == std::ssize(run.forward_units);
}

void check_run(Check& check, const PipelineRun& run) {
  Numbers orders = {0, 1};
  if (has_equal_ranks(run)) orders.push_back(2);
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"forward_units", to_message(std::span(run.forward_units))},
                          {"orders", to_message(std::span(std::as_const(orders)))},
                          {"micro_batches", run.micro_batches},
                          {"rows", run.rows},
                          {"channels", run.channels},
                          {"vocabulary", run.vocabulary}};
  }});
  const Numbers units = check.numbers<std::int64_t>(outcome, 0, "units"),
                held = check.numbers<std::int64_t>(outcome, 0, "held"),
                bytes = check.numbers<std::int64_t>(outcome, 0, "bytes");
  const auto bubbles = check.numbers<double>(outcome, 0, "bubbles");
  const std::size_t ranks = run.forward_units.size();
  for (std::size_t k = 0; k < orders.size(); ++k) {
    const auto order = static_cast<Order>(orders[k]);
    const std::string place = concat(text_of(run), ", ", kOrderNames.at(k), ": ");
    const Timeline timeline = played(order, run);
    compare(check, place + "units of a step are", units.at(k), std::lround(timeline.duration()),
            known_units(order, run));
    compare_bubble(check, place + "idle time per busy time is", bubbles.at(k), run, timeline);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      compare(check, concat(place, "micro-batches that rank ", rank, " holds are"), held.at(k * ranks + rank),
              timeline.most_held[rank], known_held(order, run, static_cast<std::int64_t>(rank)));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto number = static_cast<std::int64_t>(rank);
    compare(check,
            concat(text_of(run), ", rows ", run.rows, ", channels ", run.channels, ", vocabulary ", run.vocabulary,
                   ": bytes that rank ", rank, " sends are"),
            bytes.at(rank), expected_bytes(run, number), known_bytes(run, number));
  }
}

}  // namespace checks_11_2

void judge_11_2(Examination& exam) {
  using namespace checks_11_2;
  exam.check("the example of the task", [](Check& check) {
    check_run(check, {.forward_units = {1, 2}, .micro_batches = 4, .rows = 8, .channels = 4, .vocabulary = 12});
  });
  exam.check("4 equal ranks, 8 micro-batches", [](Check& check) {
    check_run(check, {.forward_units = {1, 1, 1, 1}, .micro_batches = 8, .rows = 16, .channels = 4, .vocabulary = 100});
  });
  exam.check("4 equal ranks, 2 micro-batches", [](Check& check) {
    check_run(check, {.forward_units = {2, 2, 2, 2}, .micro_batches = 2, .rows = 6, .channels = 5, .vocabulary = 9});
  });
  exam.check("one rank", [](Check& check) {
    check_run(check, {.forward_units = {3}, .micro_batches = 5, .rows = 2, .channels = 3, .vocabulary = 7});
  });
  exam.check("a slow rank in the middle", [](Check& check) {
    check_run(check, {.forward_units = {2, 3, 7, 1}, .micro_batches = 5, .rows = 4, .channels = 3, .vocabulary = 10});
  });
  exam.check("GPT-2 124M on 4 ranks", [](Check& check) {
    check_run(check,
              {.forward_units = {3, 3, 3, 5}, .micro_batches = 16, .rows = 4096, .channels = 768, .vocabulary = 50257});
  });
  exam.full_check("random runs", [](Check& check) {
    PhiloxSequence random(check.seed(), 112);
    const auto number = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random.next_below(most)); };
    for (int round = 0; round < 12; ++round) {
      PipelineRun run{.forward_units = Numbers(static_cast<std::size_t>(number(6)), number(4)),
                      .micro_batches = number(9),
                      .rows = number(50),
                      .channels = number(50),
                      .vocabulary = number(500)};
      if (round % 2 == 0)
        for (std::int64_t& units : run.forward_units) units = number(6);
      check_run(check, run);
    }
  });
}

}  // namespace lockstep::exercise
