#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"
#include "whole_loss.hpp"

namespace lockstep::exercise {
namespace checks_10_3 {

using tensor_parallel::kIgnored;

// The precision that float32 leaves to a loss, and to a gradient relative to its largest element.
struct Precision {
  double loss = 1e-5;
  double gradient = 1e-5;
};

struct Seen {
  std::vector<double> losses;                 // by rank
  std::vector<std::vector<float>> gradients;  // by rank
};

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

bool is_close(double got, double expected, double tolerance) { return std::abs(got - expected) <= tolerance; }

bool is_same(const Seen& seen, const std::vector<RankLoss>& expected, const Precision& precision) {
  for (std::size_t r = 0; r < expected.size(); ++r) {
    if (!is_close(seen.losses[r], expected[r].loss, precision.loss)) return false;
    const double tolerance = precision.gradient * largest(expected[r].gradient);
    for (std::size_t i = 0; i < expected[r].gradient.size(); ++i)
      if (!is_close(static_cast<double>(seen.gradients[r][i]), expected[r].gradient[i], tolerance)) return false;
  }
  return true;
}

std::string explained(const WholeLogits& logits, const Seen& seen, const Precision& precision) {
  std::vector<std::string> causes;
  for (const WrongLoss& wrong : kWrongLosses)
    if (is_same(seen, LossReference(logits, wrong).ranks(), precision)) causes.emplace_back(wrong.what);
  const std::string cause = what_comes_out(causes);
  return cause.empty() ? "" : concat(": ", cause);
}

std::string precise(double value) {
  std::ostringstream text;
  text << std::setprecision(10) << value;
  return text.str();
}

// A cause that is known before any comparison.
std::string why_not_finite(const WholeLogits& logits, double value) {
  if (std::isfinite(value)) return "";
  const bool has_rows = std::ranges::any_of(logits.targets, [](std::int32_t target) { return target != kIgnored; });
  if (!has_rows) return ": nothing counts, so the sum is divided by 0 rows";
  return ": exp() overflows, or divides 0 by 0, unless every exponent is relative to the maximum of the whole row, "
         "over all ranks";
}

// The same for a loss: the logarithm of a probability is not finite if that is 0, whatever its exponent is relative to.
std::string why_loss_not_finite(const WholeLogits& logits, double loss) {
  if (!std::isinf(loss)) return why_not_finite(logits, loss);
  return ": exp() overflows, or it is the logarithm of a probability that is 0: take log(sum) + maximum - logit, with "
         "the maximum of the whole row, over all ranks";
}

void check_numbers(Check& check, const WholeLogits& logits, const Seen& seen, const Precision& precision) {
  const LossReference reference(logits, {});
  const std::string setting =
      concat(logits.columns.size(), " ranks, ", logits.rows(), " rows, vocabulary ", logits.vocabulary(), ", rank ");
  for (std::size_t r = 0; r < seen.losses.size(); ++r) {
    const double expected = reference.ranks()[r].loss, got = seen.losses[r];
    if (is_close(got, expected, precision.loss)) continue;
    const std::string why = why_loss_not_finite(logits, got);
    check.wrong(concat(setting, r, ": the loss of the whole logits is ", precise(expected), "; got ", precise(got),
                       why.empty() ? explained(logits, seen, precision) : why));
  }
  for (std::size_t r = 0; r < seen.gradients.size(); ++r) {
    const std::vector<double>& expected = reference.ranks()[r].gradient;
    const auto columns = static_cast<std::size_t>(logits.columns[r]);
    const double tolerance = precision.gradient * largest(expected);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto got = static_cast<double>(seen.gradients[r][i]);
      if (is_close(got, expected[i], tolerance)) continue;
      const std::string why = why_not_finite(logits, got);
      check.wrong(concat(setting, r, ": the gradient in row ", i / columns, ", column ", i % columns,
                         " of the share, is ", precise(expected[i]), " for the whole logits; got ", precise(got),
                         why.empty() ? explained(logits, seen, precision) : why));
    }
  }
  for (std::size_t r = 1; r < seen.losses.size(); ++r)
    check.expect(seen.losses[r] == seen.losses[0],
                 concat(setting, r, ": the last digits of the loss are not those of rank 0's"),
                 "combine the ranks' numbers in the same order on every rank");
}

void check_costs(Check& check, const WholeLogits& logits, const Outcome& outcome, int rank) {
  const auto collectives = check.get<std::int64_t>(outcome, rank, "collectives"),
             contributed = check.get<std::int64_t>(outcome, rank, "contributed");
  const auto rows = static_cast<std::int64_t>(logits.rows());
  check.expect(contributed <= 3 * rows,
               concat("rank ", rank, " has contributed ", contributed, " numbers to collectives; 3 for each of ", rows,
                      " rows are enough, whatever the size of the vocabulary"),
               "a maximum, a sum and the target's logit say all that other ranks need");
  check.expect(collectives <= 3,
               concat("rank ", rank, " has issued ", collectives, " collectives for ", rows, " rows; 3 are enough"),
               "put the numbers of all rows into one buffer");
}

nlohmann::json question_of(const WholeLogits& logits, std::size_t rank) {
  const std::int64_t first = logits.first_of(rank), columns = logits.columns[rank];
  std::vector<float> share;
  for (std::size_t row = 0; row < logits.rows(); ++row)
    for (std::int64_t j = first; j < first + columns; ++j) share.push_back(logits.at(row, j));
  return {{"rows", static_cast<std::int64_t>(logits.rows())},
          {"columns", columns},
          {"first_column", first},
          {"logits", to_message(std::span<const float>(share))},
          {"targets", to_message(std::span(logits.targets))}};
}

void check_loss(Check& check, const WholeLogits& logits, const Precision& precision = {}, TrialOptions options = {}) {
  options.world_size = static_cast<int>(logits.columns.size());
  options.question = [&](int rank) { return question_of(logits, static_cast<std::size_t>(rank)); };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, options.world_size);
  Seen seen;
  for (int rank = 0; rank < options.world_size; ++rank) {
    const auto losses = check.numbers<double>(outcome, rank, "losses");
    check.expect(losses.size() == 1, "the program's answer makes no sense");
    seen.losses.push_back(losses[0]);
    seen.gradients.push_back(check.numbers<float>(outcome, rank, "gradient"));
    const std::size_t count = logits.rows() * static_cast<std::size_t>(logits.columns[static_cast<std::size_t>(rank)]);
    check.expect(seen.gradients.back().size() == count,
                 concat("rank ", rank, ": the gradient has ", seen.gradients.back().size(), " elements; this rank has ",
                        count, " logits"));
  }
  check_numbers(check, logits, seen, precision);
  for (int rank = 0; rank < options.world_size; ++rank) check_costs(check, logits, outcome, rank);
}

// Logits in [-spread, spread) around a centre for each rank.
struct Drawn {
  std::vector<std::int64_t> columns;
  std::vector<std::int32_t> targets;
  float spread = 4;
  std::vector<float> centres = {};  // by rank; none: 0
};

WholeLogits drawn(Check& check, const Drawn& how) {
  WholeLogits logits{.columns = how.columns, .targets = how.targets, .elements = {}};
  for (std::size_t row = 0; row < how.targets.size(); ++row) {
    for (std::size_t rank = 0; rank < how.columns.size(); ++rank) {
      const std::uint64_t stream = 1000 + 100 * row + rank;
      for (const float number : random_floats(check.seed(), stream, static_cast<std::size_t>(how.columns[rank])))
        logits.elements.push_back(how.spread * number + (how.centres.empty() ? 0.0F : how.centres[rank]));
    }
  }
  return logits;
}

void check_random(Check& check) {
  PhiloxSequence random(check.seed(), 104);
  for (int round = 0; round < 6; ++round) {
    Drawn how;
    const std::uint64_t ranks = 1 + random.next_below(4), rows = 1 + random.next_below(20);
    std::uint64_t vocabulary = 0;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      how.columns.push_back(static_cast<std::int64_t>(1 + random.next_below(40)));
      vocabulary += static_cast<std::uint64_t>(how.columns.back());
    }
    for (std::uint64_t row = 0; row < rows; ++row)
      how.targets.push_back(random.next_below(5) == 0 ? kIgnored
                                                      : static_cast<std::int32_t>(random.next_below(vocabulary)));
    check_loss(check, drawn(check, how));
  }
}

}  // namespace checks_10_3

void judge_10_3(Examination& exam) {
  using namespace checks_10_3;
  exam.check("2 ranks, targets on both", [](Check& check) {
    check_loss(check, drawn(check, {.columns = {8, 8}, .targets = {3, 12, 9, 6, 14}}));
  });
  exam.check("3 ranks, 25 columns, targets at the ends of the shares", [](Check& check) {
    check_loss(check, drawn(check, {.columns = {8, 8, 9}, .targets = {0, 7, 8, 15, 16, 24, 20}}));
  });
  exam.check("ignored rows", [](Check& check) {
    check_loss(check, drawn(check, {.columns = {6, 6}, .targets = {kIgnored, 2, 9, kIgnored, kIgnored, 11}}));
  });
  exam.check("every row is ignored", [](Check& check) {
    check_loss(check, drawn(check, {.columns = {5, 6}, .targets = {kIgnored, kIgnored}}));
  });
  exam.check("ranks with logits of different sizes", [](Check& check) {
    check_loss(check,
               drawn(check, {.columns = {6, 6, 6, 7}, .targets = {1, 8, 13, 24, 19}, .centres = {-12, 3, 9, 0}}));
  });
  exam.check("logits of 1000 and of -1000", [](Check& check) {
    const Precision rounded{.loss = 1e-3, .gradient = 1e-3};  // float32 has steps of 6e-5 there
    check_loss(check, drawn(check, {.columns = {7, 7}, .targets = {3, 12}, .centres = {-1000, -1000}}), rounded);
    check_loss(check, drawn(check, {.columns = {7, 7}, .targets = {3, 12}, .centres = {-1000, 1000}}), rounded);
  });
  exam.check("one rank has all columns", [](Check& check) {
    check_loss(check, drawn(check, {.columns = {12}, .targets = {3, 0, 11}}));
  });
  exam.full_check("random sizes", [](Check& check) { check_random(check); });
  exam.full_check("4 ranks, the second one late", [](Check& check) {
    check_loss(check, drawn(check, {.columns = {5, 6, 5, 6}, .targets = {1, 21, 10, 5}}), {}, {.delayed_rank = 1});
  });
  exam.full_check("3 ranks, many rows, small buffers", [](Check& check) {
    Drawn how{.columns = {5, 7, 6}, .targets = {}};
    for (std::int32_t row = 0; row < 3000; ++row) how.targets.push_back(row % 18);
    check_loss(check, drawn(check, how), {}, {.has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
