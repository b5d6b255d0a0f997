#include <cmath>

#include "../../require_awaited.hpp"
#include "../shares.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_06_6 {

constexpr std::size_t kCount = 20;         // elements of the gradient: more than the numbers that may be sent beside it
constexpr std::int64_t kMostBesideIt = 8;  // such numbers

// The targets of each part, by rank.
using Step = std::vector<std::vector<std::int64_t>>;

// One rank's parts.
struct Parts {
  std::vector<std::int64_t> targets;
  std::vector<double> losses, gradients;
};

std::vector<Parts> random_parts(const Step& step, std::uint64_t seed) {
  std::vector<Parts> ranks;
  for (std::size_t rank = 0; rank < step.size(); ++rank) {
    Parts parts{step[rank], {}, {}};
    const auto numbers = random_floats(seed, rank, step[rank].size() * (kCount + 1));
    auto next = numbers.begin();
    for (const std::int64_t targets : step[rank]) {
      const double scale = targets == 0 ? 0 : 1;  // a part without targets has a loss and a gradient of 0
      parts.losses.push_back(scale * (3 + *next++));
      for (std::size_t i = 0; i < kCount; ++i) parts.gradients.push_back(scale * (2 + *next++));
    }
    ranks.push_back(std::move(parts));
  }
  return ranks;
}

// The mean over some parts, with weights: element kCount is the loss.
struct Mean {
  std::vector<double> sum = std::vector<double>(kCount + 1);
  double weights = 0;

  void add(const Parts& parts, std::size_t part, double weight) {
    for (std::size_t i = 0; i < kCount; ++i) sum[i] += weight * parts.gradients[part * kCount + i];
    sum[kCount] += weight * parts.losses[part];
    weights += weight;
  }
  [[nodiscard]] double at(std::size_t i) const { return weights == 0 ? 0 : sum[i] / weights; }
};

Mean mean_over_targets(const std::vector<Parts>& ranks) {
  Mean mean;
  for (const Parts& parts : ranks)
    for (std::size_t part = 0; part < parts.targets.size(); ++part)
      mean.add(parts, part, static_cast<double>(parts.targets[part]));
  return mean;
}

// Values that come of weighing otherwise, and what they are.
std::string explain(const std::vector<Parts>& ranks, std::size_t i, double got) {
  if (std::isnan(got)) return "not a number: was something divided by 0 targets?";
  const auto is = [&](double value) { return value != 0 && std::abs(got - value) <= 1e-5 * std::abs(value); };
  const auto world_size = static_cast<double>(ranks.size());
  const Mean all = mean_over_targets(ranks);
  const double right = all.at(i);
  if (is(all.sum[i])) return concat("that is the sum over all targets, not divided by their number, ", all.weights);
  if (is(right * world_size)) return concat("that is ", world_size, " times as much");
  if (is(right / world_size))
    return concat("that is divided by ", world_size, " ranks once too often: the weights add up to 1 over all ranks");
  double mean_of_ranks = 0, mean_of_parts = 0, sum_of_parts = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Mean of_rank = mean_over_targets({ranks[rank]});
    const double own = of_rank.at(i);
    if (is(of_rank.sum[i] / all.weights) && ranks.size() > 1)
      return concat("that is rank ", rank, "'s part of it, without those of the other ranks");
    if (is(own) && ranks.size() > 1) return concat("that is the mean over rank ", rank, "'s targets alone");
    mean_of_ranks += own / world_size;
    Mean plain;
    for (std::size_t part = 0; part < ranks[rank].targets.size(); ++part) plain.add(ranks[rank], part, 1);
    mean_of_parts += plain.at(i) / world_size;
    sum_of_parts += plain.sum[i];
  }
  if (is(mean_of_ranks)) return "that is the mean of the ranks' means, so a target on a rank with few counts more";
  if (is(mean_of_ranks * world_size))
    return "that is the sum of the ranks' means: the weight of a part is its share of the targets of all ranks";
  if (is(mean_of_parts)) return "that is the mean of the parts' means, so a target in a small part counts more";
  if (is(sum_of_parts)) return "that is the sum of the parts' means, without any weights";
  double plain_sum = 0;  // of all parts of all ranks
  for (const Parts& parts : ranks)
    for (std::size_t part = 0; part < parts.targets.size(); ++part) {
      Mean one;
      one.add(parts, part, 1);
      plain_sum += one.sum[i];
    }
  if (got == 0) return "all of it is missing: is a quotient of two integers 0 here?";
  if (is(plain_sum / all.weights))
    return "each part has the weight 1 / (all targets), however many targets it has itself";
  if (is(right / all.weights)) return "it is divided by the number of all targets twice";
  if (is(sum_of_parts / world_size)) return "the parts have been added up without weights";
  return "";
}

void check_sent_once(Check& check, const Step& step, const Outcome& outcome) {
  for (int rank = 0; rank < static_cast<int>(step.size()); ++rank) {
    const auto gradients = check.get<std::int64_t>(outcome, rank, "gradients_sent");
    check.expect(gradients <= 1,
                 concat("rank ", rank, " sent the gradient ", gradients, " times for ",
                        step[static_cast<std::size_t>(rank)].size(), " parts; once is enough"),
                 "add up all parts first; the sum of the parts is what the other ranks need");
  }
}

void check_step(Check& check, const Step& step, TrialOptions options = {}) {
  const std::vector<Parts> ranks = random_parts(step, check.seed());
  options.world_size = static_cast<int>(step.size());
  options.question = [&](int rank) {
    const Parts& parts = ranks[static_cast<std::size_t>(rank)];
    return nlohmann::json{{"targets", to_message(std::span<const std::int64_t>(parts.targets))},
                          {"losses", to_message(std::span<const double>(parts.losses))},
                          {"gradients", to_message(std::span<const double>(parts.gradients))},
                          {"count", static_cast<std::int64_t>(kCount)}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, options.world_size);
  check_sent_once(check, step, outcome);
  const Mean mean = mean_over_targets(ranks);
  const std::vector<double> expected = [&] {
    std::vector<double> values;
    for (std::size_t i = 0; i < kCount; ++i) values.push_back(mean.at(i));
    return values;
  }();
  // Values of at most 4, as sums of at most 60 products in float: 60 half ulps of 4 are 1.4e-5.
  for (int rank = 0; rank < options.world_size; ++rank) {
    check.compare(
        concat("rank ", rank, "'s gradient"), check.numbers<float>(outcome, rank, "gradient"), expected,
        {.absolute = 2e-5, .explain = [&](std::size_t i, double got, double) { return explain(ranks, i, got); }});
    const double loss = check.numbers<double>(outcome, rank, "loss").at(0), expected_loss = mean.at(kCount);
    if (!(std::abs(loss - expected_loss) <= 2e-5)) {
      const std::string meaning = explain(ranks, kCount, loss);
      check.wrong(concat("rank ", rank, " returned the loss ", shown(loss), "; the mean over all targets is ",
                         shown(expected_loss), meaning.empty() ? "" : ": ", meaning));
    }
  }
}

void check_traffic(Check& check, const Step& step) {
  check_step(check, step);
  const Outcome& outcome = check.outcomes().back();
  for (int rank = 0; rank < static_cast<int>(step.size()); ++rank) {
    const auto sent = check.get<std::int64_t>(outcome, rank, "sent");
    const auto most = static_cast<std::int64_t>(kCount) + kMostBesideIt;
    check.expect(sent <= most, concat("rank ", rank, " sent ", sent, " numbers; the gradient has ", kCount, ", and ",
                                      kMostBesideIt, " more are enough"));
  }
}

}  // namespace checks_06_6

void judge_06_6(Examination& exam) {
  using namespace checks_06_6;
  exam.check("one rank, equal parts", [](Check& check) { check_step(check, {{4, 4}}); });
  exam.check("one rank, parts of 1, 3 and 8 targets", [](Check& check) { check_step(check, {{1, 3, 8}}); });
  exam.check("3 ranks, uneven parts", [](Check& check) { check_step(check, {{7, 1}, {2, 2, 30}, {11}}); });
  exam.check("2 ranks, equal parts", [](Check& check) { check_step(check, {{5, 5}, {5, 5}}); });
  exam.check("the gradient is sent once", [](Check& check) { check_traffic(check, {{2, 2, 2, 2}, {2, 2, 2, 2}}); });
  exam.check("a part without targets", [](Check& check) { check_step(check, {{6, 0}, {3, 2}}); });
  exam.check("a rank without parts", [](Check& check) { check_step(check, {{6, 1}, {}, {4}}); });
  exam.check("no targets at all", [](Check& check) { check_step(check, {{0}, {0, 0}}); });
  exam.check("different numbers of parts, and the gradient is sent once", [](Check& check) {
    check_traffic(check, {{9, 4, 1, 1, 2}, {3}, {}, {8, 8}});
  });
  exam.full_check("8 ranks with up to 7 parts, the first rank late", [](Check& check) {
    PhiloxSequence random(check.seed(), 66);
    Step step(8);
    for (std::size_t rank = 0; rank < 8; ++rank)
      for (std::size_t part = 0; part < rank; ++part)
        step[rank].push_back(static_cast<std::int64_t>(random.next_below(1000)));
    check_step(check, step, {.delayed_rank = 0});
    check_traffic(check, step);
  });
}

}  // namespace lockstep::exercise
