#include <algorithm>

#include "../../require_awaited.hpp"
#include "../shares.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_06_5 {

using Numbers = std::vector<std::int64_t>;
using Order = std::vector<std::int64_t>;  // parameters as their gradients become ready in one backward pass

constexpr double kParameterStep = 4096;  // tells the parameters apart: the digits of 4 ranks are below it

// A model in buckets, and in which order each rank's gradients become ready in each step.
struct Scenario {
  Numbers counts;     // by parameter: elements
  Numbers bucket_of;  // by parameter
  int world_size = 1;
  std::vector<std::vector<Order>> orders;  // by step, by rank

  [[nodiscard]] std::int64_t bucket_count() const { return *std::ranges::max_element(bucket_of) + 1; }
  [[nodiscard]] const Order& order(std::size_t step, int rank) const {
    const std::vector<Order>& of_step = orders[step];
    return of_step[std::min(static_cast<std::size_t>(rank), of_step.size() - 1)];  // the last one is all others' too
  }
};

// The buckets that can have left once these gradients are ready: those before the first that is not complete.
std::int64_t most_launched(const Scenario& scenario, std::span<const std::int64_t> ready) {
  std::int64_t launched = scenario.bucket_count();
  for (std::size_t p = 0; p < scenario.counts.size(); ++p)
    if (std::ranges::find(ready, static_cast<std::int64_t>(p)) == ready.end())
      launched = std::min(launched, scenario.bucket_of[p]);
  return launched;
}

std::string explain_value(const Scenario& scenario, std::size_t parameter, std::size_t step, double got) {
  const int ranks = scenario.world_size;
  double sum = 0;  // of what the ranks have contributed
  for (int rank = 0; rank < ranks; ++rank) {
    const Order& order = scenario.order(step, rank);
    if (std::ranges::find(order, static_cast<std::int64_t>(parameter)) == order.end()) continue;
    const double own = share_in_mean(rank, ranks) + static_cast<double>(parameter) * kParameterStep * ranks +
                       static_cast<double>(step) * ranks;
    if (got == own) return concat("that is rank ", rank, "'s own value: no mean has been made of it");
    sum += own;
  }
  if (got == sum) return "that is the sum: nobody has waited for this bucket, and its mean is not made yet";
  if (got == 0) return "its bucket left before this gradient was in it on any rank";
  const double others = got - sum / ranks;
  if (std::fmod(std::abs(others), kParameterStep) == 0 && others != 0)
    return "gradients of other parameters have been added to it: the ranks have not sent their buckets in the same "
           "order";
  return "not every rank's gradient is in it as it should be";
}

void check_values(Check& check, const Scenario& scenario, const Outcome& outcome, int rank) {
  const std::vector<float> means = check.numbers<float>(outcome, rank, "means");
  const int ranks = scenario.world_size;
  check.expect(std::ranges::any_of(means, [](float mean) { return mean != 0; }),
               concat("rank ", rank, ": all gradients are 0 after on_backward_end()"),
               "the means stay in the buckets; who calls the reducer fills them with zeros before the next step");
  std::size_t begin = 0;
  for (std::size_t step = 0; step < scenario.orders.size(); ++step) {
    for (std::size_t p = 0; p < scenario.counts.size(); ++p) {
      double mean = 0;
      for (int r = 0; r < ranks; ++r) {
        const Order& order = scenario.order(step, r);
        if (std::ranges::find(order, static_cast<std::int64_t>(p)) != order.end())
          mean += std::pow(8.0, r) + static_cast<double>(p) * kParameterStep + static_cast<double>(step);
      }
      const auto count = static_cast<std::size_t>(scenario.counts[p]);
      check.compare(
          concat("step ", step + 1, ", rank ", rank, ", mean gradient of parameter ", p),
          std::span(means).subspan(begin, count), std::vector<double>(count, mean),
          {.explain = [&](std::size_t, double got, double) { return explain_value(scenario, p, step, got); }});
      begin += count;
    }
  }
}

// How many buckets had left, and had been waited for, when backward went on after each gradient.
void check_launches(Check& check, const Scenario& scenario, const Outcome& outcome, int rank) {
  const Numbers issued = check.numbers<std::int64_t>(outcome, rank, "issued"),
                waited = check.numbers<std::int64_t>(outcome, rank, "waited");
  std::size_t call = 0;
  for (std::size_t step = 0; step < scenario.orders.size(); ++step) {
    const Order& order = scenario.order(step, rank);
    const auto before = static_cast<std::int64_t>(step) * scenario.bucket_count();
    for (std::size_t k = 0; k < order.size(); ++k, ++call) {
      const auto ready = std::span(order).first(k + 1);
      const std::int64_t wanted = most_launched(scenario, ready), launched = issued[call] - before;
      if (launched != wanted)
        check.wrong(concat("step ", step + 1, ", rank ", rank, ": when the gradients ", list(ready), " were ready, ",
                           launched, " of the ", scenario.bucket_count(), " buckets had been launched; ", wanted,
                           " could leave (the parameters are in the buckets ", list(scenario.bucket_of), ")"),
                    step > 0 && launched == 0
                        ? "what belongs to a step has to be set back at its end: ready_count_ and next_to_launch_"
                        : "a bucket leaves as soon as all its gradients are ready and all buckets before it have left");
      if (waited[call] != before)
        check.wrong(concat("step ", step + 1, ", rank ", rank, ": it waited for a bucket while backward was running"),
                    "call wait() in on_backward_end() only");
    }
    if (issued[call] != before + scenario.bucket_count())
      check.wrong(concat("step ", step + 1, ", rank ", rank, ": ", issued[call] - before, " of the ",
                         scenario.bucket_count(), " buckets had been launched at the end of the step"));
    ++call;
  }
}

void check_scenario(Check& check, const Scenario& scenario, TrialOptions options = {}) {
  options.world_size = scenario.world_size;
  options.question = [&](int rank) {
    Numbers orders;
    for (std::size_t step = 0; step < scenario.orders.size(); ++step) {
      const Order& order = scenario.order(step, rank);
      orders.insert(orders.end(), order.begin(), order.end());
      orders.push_back(-1);
    }
    // All of a rank's values are times the world size, so that means are whole numbers.
    return nlohmann::json{{"counts", to_message(std::span(scenario.counts))},
                          {"bucket_of", to_message(std::span(scenario.bucket_of))},
                          {"bucket_count", scenario.bucket_count()},
                          {"orders", to_message(std::span<const std::int64_t>(orders))},
                          {"base", share_in_mean(rank, scenario.world_size)},
                          {"parameter_step", kParameterStep * scenario.world_size},
                          {"step_step", scenario.world_size}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, scenario.world_size,
                  "launch() returns before the means are there: at the end of backward call wait() for every bucket");
  for (int rank = 0; rank < scenario.world_size; ++rank) check_launches(check, scenario, outcome, rank);
  for (int rank = 0; rank < scenario.world_size; ++rank) check_values(check, scenario, outcome, rank);
}

// A random order of some of the parameters.
Order random_order(PhiloxSequence& random, std::size_t parameters, std::uint64_t percent_used) {
  Order order;
  for (std::size_t p = 0; p < parameters; ++p)
    if (random.next_below(100) < percent_used) order.push_back(static_cast<std::int64_t>(p));
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.next_below(left)]);
  return order;
}

}  // namespace checks_06_5

void judge_06_5(Examination& exam) {
  using namespace checks_06_5;
  exam.check("2 ranks, one bucket", [](Check& check) {
    check_scenario(check, {{3, 2, 1}, {0, 0, 0}, 2, {{{2, 1, 0}}}});
  });
  exam.check("3 ranks, three buckets that fill one after another", [](Check& check) {
    check_scenario(check, {{3, 2, 4, 1, 2, 6}, {2, 2, 1, 1, 0, 0}, 3, {{{5, 4, 3, 2, 1, 0}}}});
  });
  exam.check("three steps", [](Check& check) {
    const std::vector<Order> order = {{3, 2, 1, 0}};
    check_scenario(check, {{3, 2, 4, 1}, {1, 1, 0, 0}, 2, {order, order, order}});
  });
  exam.check("rank 1 computes its gradients in another order", [](Check& check) {
    check_scenario(check, {{3, 2, 4, 2}, {1, 1, 0, 0}, 3, {{{3, 2, 1, 0}, {1, 0, 2, 3}, {2, 3, 0, 1}}}});
  });
  exam.check("the same, and all buckets have the same length", [](Check& check) {
    check_scenario(check, {{2, 2, 2}, {2, 1, 0}, 2, {{{2, 1, 0}, {0, 1, 2}}, {{1, 2, 0}, {2, 1, 0}}}});
  });
  exam.check("a later bucket is complete first", [](Check& check) {
    check_scenario(check, {{3, 2, 4, 1, 2, 6}, {2, 2, 1, 1, 0, 0}, 2, {{{1, 0, 5, 3, 4, 2}}}});
  });
  exam.check("parameters without a gradient on some ranks or all", [](Check& check) {
    const std::vector<Order> last = {{4, 3, 2, 1, 0}};
    check_scenario(check, {{3, 2, 4, 1, 2}, {2, 1, 1, 0, 0}, 2, {{{4, 3, 1, 0}, {4, 2, 1, 0}}, {{3, 1}}, last}});
  });
  exam.check("a rank without any gradient", [](Check& check) {
    check_scenario(check, {{3, 2, 4}, {2, 1, 0}, 2, {{{}, {2, 1, 0}}, {{2, 1, 0}, {}}}});
  });
  exam.full_check("4 ranks, random orders, the third rank late", [](Check& check) {
    PhiloxSequence random(check.seed(), 65);
    Scenario scenario{{}, {}, 4, {}};
    for (std::int64_t p = 0; p < 40; ++p) {
      scenario.counts.push_back(static_cast<std::int64_t>(1 + random.next_below(300)));
      scenario.bucket_of.push_back((39 - p) / 5);
    }
    for (const std::uint64_t percent : {100, 90, 100}) {
      scenario.orders.emplace_back();
      for (int rank = 0; rank < 4; ++rank) scenario.orders.back().push_back(random_order(random, 40, percent));
    }
    check_scenario(check, scenario, {.delayed_rank = 2});
  });
  exam.full_check("3 ranks, large buckets, small buffers of the kernel", [](Check& check) {
    check_scenario(check, {{100'000, 7, 90'000}, {1, 1, 0}, 3, {{{2, 0, 1}, {0, 1, 2}}}}, {.has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
