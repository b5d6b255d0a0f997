#include <algorithm>
#include <bit>
#include <functional>

#include "../../explanation.hpp"
#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "drifting_model.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_09_5 {

using Numbers = std::vector<std::int64_t>;

struct Local {
  int ranks;
  std::int64_t steps, interval;
  std::int64_t count = 8;
};

// How all ranks are trained, right or with one mistake; `what` completes "that is what comes out if ".
struct Rules {
  const char* what = "";
  bool has_broadcast = true;
  std::function<bool(const Local&, std::int64_t step)> is_due = [](const Local& local, std::int64_t step) {
    return step % local.interval == 0 || step == local.steps;
  };
  enum class Average { kMean, kSum, kTwice } average = Average::kMean;
  enum class Moments { kOwn, kMeans, kZeros, kInsteadOfValues } moments = Moments::kOwn;
};

const std::vector<Rules>& wrong_rules() {
  using Due = std::function<bool(const Local&, std::int64_t)>;
  const Due never = [](const Local&, std::int64_t) { return false; };
  const Due always = [](const Local&, std::int64_t) { return true; };
  const Due last = [](const Local& local, std::int64_t step) { return step == local.steps; };
  const Due no_last = [](const Local& local, std::int64_t step) { return step % local.interval == 0; };
  const Due from_zero = [](const Local& local, std::int64_t step) {
    return (step - 1) % local.interval == 0 || step == local.steps;
  };
  const Due one_late = [](const Local& local, std::int64_t step) {
    return step % (local.interval + 1) == 0 || step == local.steps;
  };
  const Due first = [](const Local& local, std::int64_t step) { return step == std::min(local.interval, local.steps); };
  static const std::vector<Rules> kRules = {
      {.what = "every rank begins with values of its own", .has_broadcast = false},
      {.what = "values are never averaged", .is_due = never},
      {.what = "values are averaged after every step", .is_due = always},
      {.what = "values are averaged after the last step only", .is_due = last},
      {.what = "only the first average is made", .is_due = first},
      {.what = "the last steps, which are fewer than the interval, are not averaged", .is_due = no_last},
      {.what = "steps are counted from 0: the first average comes after the first step", .is_due = from_zero},
      {.what = "the interval is one step too long", .is_due = one_late},
      {.what = "values are sums over the ranks, not means", .average = Rules::Average::kSum},
      {.what = "sums are divided by the number of ranks twice", .average = Rules::Average::kTwice},
      {.what = "moments are averaged too", .moments = Rules::Moments::kMeans},
      {.what = "moments are set to zero when values are averaged", .moments = Rules::Moments::kZeros},
      {.what = "moments are averaged and values are not", .moments = Rules::Moments::kInsteadOfValues}};
  return kRules;
}

void average(std::vector<DriftingModel>& models, std::span<float> (DriftingModel::*part)(), Rules::Average how) {
  const auto ranks = static_cast<float>(models.size());
  for (std::size_t i = 0; i < (models.front().*part)().size(); ++i) {
    float sum = 0;
    for (DriftingModel& model : models) sum += (model.*part)()[i];
    if (how != Rules::Average::kSum) sum /= ranks;
    if (how == Rules::Average::kTwice) sum /= ranks;
    for (DriftingModel& model : models) (model.*part)()[i] = sum;
  }
}

std::vector<DriftingModel> trained(const Local& local, const Rules& rules) {
  std::vector<DriftingModel> models;
  for (int rank = 0; rank < local.ranks; ++rank) models.emplace_back(rank, static_cast<std::size_t>(local.count));
  for (DriftingModel& model : models)
    if (rules.has_broadcast) std::ranges::copy(models.front().values(), model.values().begin());
  for (std::int64_t step = 1; step <= local.steps; ++step) {
    for (DriftingModel& model : models) model.step();
    if (!rules.is_due(local, step)) continue;
    const bool averages_moments =
        rules.moments == Rules::Moments::kMeans || rules.moments == Rules::Moments::kInsteadOfValues;
    if (rules.moments != Rules::Moments::kInsteadOfValues) average(models, &DriftingModel::values, rules.average);
    if (averages_moments) average(models, &DriftingModel::moments, rules.average);
    for (DriftingModel& model : models)
      if (rules.moments == Rules::Moments::kZeros) std::ranges::fill(model.moments(), 0.0F);
  }
  return models;
}

// On 1, 2 and 4 ranks all ways to divide by their number give the same bits.
bool is_close(const Local& local, float got, float expected) {
  if (std::has_single_bit(static_cast<unsigned>(local.ranks))) return got == expected;
  return Tolerance{.relative = 1e-5, .absolute = 1e-5}.accepts(got, expected);
}

struct Seen {
  std::vector<std::vector<float>> values, moments;  // by rank
};

bool is_same(const Local& local, const Seen& seen, std::vector<DriftingModel> models) {
  const auto is_equal = [&](float got, float expected) { return is_close(local, got, expected); };
  for (std::size_t r = 0; r < models.size(); ++r) {
    if (!std::ranges::equal(seen.values[r], models[r].values(), is_equal)) return false;
    if (!std::ranges::equal(seen.moments[r], models[r].moments(), is_equal)) return false;
  }
  return true;
}

std::string explained(const Local& local, const Seen& seen) {
  std::vector<std::string> causes;
  for (const Rules& rules : wrong_rules())
    if (is_same(local, seen, trained(local, rules))) causes.emplace_back(rules.what);
  return explanation_of(causes);
}

void compare(Check& check, const Local& local, const std::string& what, std::span<const float> got,
             std::span<const float> expected, const Seen& seen) {
  check.expect(got.size() == expected.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (is_close(local, got[i], expected[i])) continue;
    check.wrong(
        concat(what, " ", i, ": expected ", shown(expected[i]), ", got ", shown(got[i]), explained(local, seen)));
  }
}

// Each all-reduce is of all values; they come after each interval and after the last step. One rank has nobody to send
// to, and may leave all of them out.
void check_counts(Check& check, const Local& local, const Outcome& outcome, int rank) {
  const Numbers all_reduces = check.numbers<std::int64_t>(outcome, rank, "all_reduces"),
                broadcasts = check.numbers<std::int64_t>(outcome, rank, "broadcasts");
  const std::int64_t due = (local.steps + local.interval - 1) / local.interval;
  const auto elements = [](const Numbers& counts) {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    return sum;
  };
  const std::string place =
      concat("rank ", rank, ", ", local.steps, " steps with an interval of ", local.interval, ": ");
  check.expect(std::ssize(all_reduces) == due && elements(all_reduces) == due * local.count,
               concat(place, all_reduces.size(), " all-reduces of ", elements(all_reduces), " elements in all; ", due,
                      " of ", local.count, " each are right"),
               elements(all_reduces) > due * local.count ? "after the same step values are averaged once"
                                                         : "one all-reduce of all values whenever an average is due");
  check.expect(std::ssize(broadcasts) == 1 && elements(broadcasts) == local.count,
               concat(place, broadcasts.size(), " broadcasts; one of all values is right"));
}

void check_local(Check& check, const Local& local, TrialOptions options = {}) {
  options.world_size = local.ranks;
  options.question = [&](int) {
    return nlohmann::json{{"steps", local.steps}, {"interval", local.interval}, {"count", local.count}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, local.ranks);
  Seen seen;
  for (int rank = 0; rank < local.ranks; ++rank) {
    seen.values.push_back(check.numbers<float>(outcome, rank, "values"));
    seen.moments.push_back(check.numbers<float>(outcome, rank, "moments"));
    const auto steps = check.get<std::int64_t>(outcome, rank, "steps");
    check.expect(steps == local.steps,
                 concat("rank ", rank, " has called step() ", steps, " times, not ", local.steps));
  }
  std::vector<DriftingModel> expected = trained(local, {});
  for (std::size_t r = 0; r < seen.values.size(); ++r) {
    const std::string begin =
        concat(local.steps, " steps with an interval of ", local.interval, ", rank ", r, " of ", local.ranks, ", ");
    compare(check, local, begin + "value", seen.values[r], expected[r].values(), seen);
    compare(check, local, begin + "moment", seen.moments[r], expected[r].moments(), seen);
  }
  if (local.ranks == 1) return;
  for (int rank = 0; rank < local.ranks; ++rank) check_counts(check, local, outcome, rank);
}

}  // namespace checks_09_5

void judge_09_5(Examination& exam) {
  using namespace checks_09_5;
  exam.check("2 ranks, 6 steps, interval 3",
             [](Check& check) { check_local(check, {.ranks = 2, .steps = 6, .interval = 3}); });
  exam.check("2 ranks, an average after each of 4 steps",
             [](Check& check) { check_local(check, {.ranks = 2, .steps = 4, .interval = 1}); });
  exam.check("4 ranks, 7 steps, interval 3: the last step is averaged too",
             [](Check& check) { check_local(check, {.ranks = 4, .steps = 7, .interval = 3}); });
  exam.check("3 ranks, an interval longer than the training",
             [](Check& check) { check_local(check, {.ranks = 3, .steps = 3, .interval = 10}); });
  exam.check("3 ranks, 8 steps, interval 2",
             [](Check& check) { check_local(check, {.ranks = 3, .steps = 8, .interval = 2}); });
  exam.check("one rank", [](Check& check) { check_local(check, {.ranks = 1, .steps = 3, .interval = 2}); });
  exam.full_check("4 ranks, the second one late", [](Check& check) {
    check_local(check, {.ranks = 4, .steps = 5, .interval = 2}, {.delayed_rank = 1});
  });
  exam.full_check("3 ranks, 100 000 values through small buffers", [](Check& check) {
    check_local(check, {.ranks = 3, .steps = 4, .interval = 2, .count = 100'000}, {.has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
