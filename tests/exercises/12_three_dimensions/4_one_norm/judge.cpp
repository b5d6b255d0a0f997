#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include "../../explanation.hpp"
#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"
#include "share_rules.hpp"

namespace lockstep::exercise {
namespace checks_12_4 {

using one_norm::Place;
using one_norm::Spread;

constexpr Tolerance kFloat64{.relative = 1e-12};
constexpr Tolerance kFloat32{.relative = 1e-4};
// One factor in float32, with or without the 1e-6 that PyTorch adds to a norm of at least 1.
constexpr Tolerance kScaled{.relative = 3e-6};

struct Job {
  GridGradient whole;
  double max_norm = 2;
};

struct Seen {
  std::vector<double> squares, norms;         // by rank
  std::vector<std::vector<float>> gradients;  // by rank, part after part
};

std::string text_of(const Sides& sides) {
  return concat("P ", sides.pipeline, ", D ", sides.data, ", T ", sides.tensor, ": ");
}

std::string precise(double value) {
  std::ostringstream text;
  text.precision(14);
  text << value;
  return text.str();
}

nlohmann::json question_of(const Job& job, int rank) {
  const Place place = job.whole.sides().place_of(rank);
  nlohmann::json question = {
      {"pipeline", place.pipeline}, {"data", place.data}, {"tensor", place.tensor}, {"max_norm", job.max_norm}};
  std::vector<std::int64_t> kinds, counts;
  std::vector<float> gradient;
  for (const Parameter& parameter : job.whole.parameters()) {
    if (!GridGradient::is_on(parameter, place)) continue;
    const std::vector<float> own = job.whole.part(parameter, place);
    question[concat("name_", kinds.size())] = parameter.name;
    kinds.push_back((parameter.along_tensor == Spread::kCopied ? 1 : 0) +
                    (parameter.along_data == Spread::kCopied ? 2 : 0) + (parameter.is_borrowed ? 4 : 0));
    counts.push_back(std::ssize(own));
    gradient.insert(gradient.end(), own.begin(), own.end());
  }
  question["kinds"] = to_message(std::span<const std::int64_t>(kinds));
  question["counts"] = to_message(std::span<const std::int64_t>(counts));
  question["gradient"] = to_message(std::span<const float>(gradient));
  return question;
}

// A guess at the cause of a number that no rule gives.
std::string guess(double got, double expected) {
  if (std::isfinite(got) && !std::isfinite(expected)) return ": elements that are not finite are left out";
  return kFloat32.accepts(got, expected) ? ": that is right to the digits of float32; add squares up in double, and "
                                           "reduce a double"
                                         : "";
}

double sum_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

void check_shares(Check& check, const Job& job, const Seen& seen) {
  const double expected = whole_squares(job.whole), got = sum_of(seen.squares);
  if (kFloat64.accepts(got, expected)) return;
  std::vector<std::string> causes;
  for (const ShareRule& rule : kWrongShares) {
    bool is_same = true;
    for (int rank = 0; rank < job.whole.sides().ranks(); ++rank)
      is_same =
          is_same && kFloat64.accepts(seen.squares[static_cast<std::size_t>(rank)], squares_of(job.whole, rank, rule));
    if (is_same) causes.emplace_back(rule.what);
  }
  const std::string why = explanation_of(causes);
  check.wrong(concat(text_of(job.whole.sides()), "the squares of the whole gradient add up to ", precise(expected),
                     ", and own_squares() of all ranks to ", precise(got), why.empty() ? guess(got, expected) : why),
              "for each part, say which of the ranks that have it counts it");
}

// Norms, by rank, that come out of right shares; `what` as in ShareRule.
struct WrongNorm {
  const char* what;
  double (*norm)(const std::vector<double>& squares, std::size_t rank);
};

constexpr WrongNorm kWrongNorms[] = {
    {"each rank takes the root of its own share",
     [](const std::vector<double>& squares, std::size_t rank) { return std::sqrt(squares[rank]); }},
    {"the shares are averaged over the ranks",
     [](const std::vector<double>& squares, std::size_t) {
       return std::sqrt(sum_of(squares) / static_cast<double>(squares.size()));
     }},
    {"the ranks' norms are added up; add squares, and take one root at the end",
     [](const std::vector<double>& squares, std::size_t) {
       double sum = 0;
       for (const double share : squares) sum += std::sqrt(share);
       return sum;
     }},
    {"the root is left out", [](const std::vector<double>& squares, std::size_t) { return sum_of(squares); }},
    {"the root is taken twice",
     [](const std::vector<double>& squares, std::size_t) { return std::sqrt(std::sqrt(sum_of(squares))); }},
};

void check_norms(Check& check, const Job& job, const Seen& seen) {
  const double expected = std::sqrt(whole_squares(job.whole));
  for (std::size_t rank = 0; rank < seen.norms.size(); ++rank) {
    const double got = seen.norms[rank];
    if (kFloat64.accepts(got, expected)) continue;
    std::vector<std::string> causes;
    for (const WrongNorm& wrong : kWrongNorms)
      if (kFloat64.accepts(got, wrong.norm(seen.squares, rank))) causes.emplace_back(wrong.what);
    const std::string why = explanation_of(causes);
    check.wrong(concat(text_of(job.whole.sides()), "the norm of the whole gradient is ", precise(expected), "; rank ",
                       rank, " returns ", precise(got), why.empty() ? guess(got, expected) : why));
  }
  for (std::size_t rank = 1; rank < seen.norms.size(); ++rank)
    check.expect(
        std::bit_cast<std::uint64_t>(seen.norms[rank]) == std::bit_cast<std::uint64_t>(seen.norms[0]) ||
            std::isnan(expected),
        concat(text_of(job.whole.sides()), "the last digits of rank ", rank, "'s norm are not those of rank 0's"),
        "all ranks take the root of the same sum");
}

// Why an element is not the original one, multiplied by `factor`.
std::string why_scaled(double factor, double got, double original, const Seen& seen, std::size_t rank,
                       double max_norm) {
  if (!std::isfinite(seen.norms[rank])) return ": it is multiplied by a factor made of a norm that is not finite";
  if (!std::isfinite(got)) return ": the factor is not finite";
  const double ratio = got / original;
  std::vector<std::string> causes;
  const auto is_ratio = [&](double other) { return kScaled.accepts(ratio, other); };
  const double norm = seen.norms[rank];
  if (factor != 1 && ratio == 1)
    causes.emplace_back("this part is left as it was: copies are scaled, too, counted or not");
  if (is_ratio(max_norm / std::sqrt(seen.squares[rank])))
    causes.emplace_back("the factor is made of this rank's own share");
  if (factor == 1 && is_ratio(max_norm / norm)) causes.emplace_back("a factor above 1 scales a small gradient up");
  if (factor != 1 && is_ratio(max_norm / (norm * norm)))
    causes.emplace_back("the limit is divided by the square of the norm");
  if (factor != 1 && is_ratio(factor * factor)) causes.emplace_back("it is scaled twice");
  if (factor != 1 && is_ratio(1 / norm)) causes.emplace_back("the factor is 1 / norm, whatever the limit");
  return explanation_of(causes);
}

void check_gradients(Check& check, const Job& job, const Seen& seen) {
  const double norm = std::sqrt(whole_squares(job.whole));
  const bool is_clipped = std::isfinite(norm) && norm > job.max_norm;
  const double factor = is_clipped ? job.max_norm / norm : 1;
  for (std::size_t rank = 0; rank < seen.gradients.size(); ++rank) {
    const Place place = job.whole.sides().place_of(static_cast<int>(rank));
    std::size_t next = 0;
    for (const Parameter& parameter : job.whole.parameters()) {
      if (!GridGradient::is_on(parameter, place)) continue;
      for (const float original : job.whole.part(parameter, place)) {
        check.expect(next < seen.gradients[rank].size(), "the program's answer makes no sense");
        const float got = seen.gradients[rank][next++];
        const bool keeps_bits = std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(original);
        const auto expected = factor * static_cast<double>(original);
        if (parameter.is_borrowed || (is_clipped ? kScaled.accepts(static_cast<double>(got), expected) : keeps_bits))
          continue;
        check.wrong(
            concat(
                text_of(job.whole.sides()), "norm ", shown(norm), ", limit ", shown(job.max_norm), ": rank ", rank,
                "'s ", parameter.name, " should ",
                is_clipped ? concat("be ", shown(expected)) : concat("keep ", shown(static_cast<double>(original))),
                "; it is ", shown(static_cast<double>(got)),
                why_scaled(factor, static_cast<double>(got), static_cast<double>(original), seen, rank, job.max_norm)),
            is_clipped ? "" : "only if the norm is finite and above the limit, gradients change");
      }
    }
  }
}

void check_cost(Check& check, const Outcome& outcome, int rank, int ranks) {
  const auto contributed = check.numbers<std::int64_t>(outcome, rank, "contributed");
  check.expect(contributed.size() == 1 || (contributed.empty() && ranks == 1),
               concat("rank ", rank, " has issued ", contributed.size(), " collectives; one is enough, over all ranks"),
               "each rank adds up all that it counts, and then the ranks add up one number");
  for (const std::int64_t numbers : contributed)
    check.expect(numbers <= 8,
                 concat("rank ", rank, " has contributed ", numbers, " numbers to a collective; one is enough"));
}

void check_outcome(Check& check, const Job& job, const Outcome& outcome) {
  const int ranks = job.whole.sides().ranks();
  require_awaited(check, outcome, ranks);
  Seen seen;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto numbers = check.numbers<double>(outcome, rank, "numbers");
    check.expect(numbers.size() == 2, "the program's answer makes no sense");
    seen.squares.push_back(numbers[0]);
    seen.norms.push_back(numbers[1]);
    seen.gradients.push_back(check.numbers<float>(outcome, rank, "gradient"));
  }
  check_shares(check, job, seen);
  check_norms(check, job, seen);
  check_gradients(check, job, seen);
  for (int rank = 0; rank < ranks; ++rank) check_cost(check, outcome, rank, ranks);
}

// Runs all jobs before it looks at the answers: mistakes that agree in one differ in another.
void check_jobs(Check& check, const std::vector<Job>& jobs, TrialOptions options = {}) {
  for (const Job& job : jobs) {
    options.world_size = job.whole.sides().ranks();
    options.question = [&](int rank) { return question_of(job, rank); };
    check.run(options);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) check_outcome(check, jobs[i], check.outcomes()[i]);
}

// A gradient with one element that is no number, on one rank.
Job with_element(const Sides& sides, std::uint64_t seed, const std::string& name, float element) {
  Job job{.whole = GridGradient(sides, DataAxis::kAllCut, seed)};
  job.whole.middle_of(name) = element;
  return job;
}

void check_random(Check& check) {
  PhiloxSequence random(check.seed(), 124);
  const auto drawn = [&](int most) {
    return static_cast<int>(1 + random.next_below(static_cast<std::uint64_t>(most)));
  };
  std::vector<Job> jobs;
  for (int round = 0; round < 6; ++round) {
    const Sides sides{.pipeline = drawn(3), .data = drawn(2), .tensor = drawn(2)};
    const auto data_axis = static_cast<DataAxis>(random.next_below(3));
    jobs.push_back({.whole = GridGradient(sides, data_axis, check.seed() + static_cast<std::uint64_t>(round)),
                    .max_norm = 1.5 * drawn(12)});
  }
  check_jobs(check, jobs);
}

}  // namespace checks_12_4

void judge_12_4(Examination& exam) {
  using namespace checks_12_4;
  using enum DataAxis;
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  exam.check("one rank, with small elements and with 1e25", [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({}, kAllCut, check.seed())},
                       {.whole = GridGradient({}, kAllCut, check.seed(), 1e25F)}});
  });
  exam.check("3 tensor ranks, and 2 with 2 data ranks", 2, [](Check& check) {
    const Sides square{.data = 2, .tensor = 2};
    check_jobs(check, {{.whole = GridGradient({.tensor = 3}, kAllCut, check.seed())},
                       {.whole = GridGradient(square, kAllCut, check.seed())},
                       {.whole = GridGradient(square, kAllCopied, check.seed())}});
  });
  exam.check("2 stages, and a borrowed table", [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({.pipeline = 2}, kAllCut, check.seed())}});
  });
  exam.check("3 data ranks: all shards, and all copies", [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({.data = 3}, kAllCut, check.seed())},
                       {.whole = GridGradient({.data = 3}, kAllCopied, check.seed())}});
  });
  exam.check("2 x 2 x 2, vectors copied along two axes", 2, [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({2, 2, 2}, kVectorsCopied, check.seed())}});
  });
  exam.check("a limit above the norm", [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({2, 1, 2}, kAllCut, check.seed()), .max_norm = 1000}});
  });
  exam.check("only norms are trained: some ranks have nothing to count", [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({2, 2, 2}, kAllCopied, check.seed(), 5, Trained::kNormsOnly)}});
  });
  exam.check("an infinite element, and NaN, on one rank", [](Check& check) {
    check_jobs(check, {with_element({2, 2, 2}, check.seed(), "blocks.1.mlp.up.weight", kInfinity),
                       with_element({2, 2, 2}, check.seed(), "blocks.0.mlp.up.weight", kNaN)});
  });
  exam.full_check("random grids and limits", [](Check& check) { check_random(check); });
  exam.full_check("2 x 2 x 2, the second rank late", [](Check& check) {
    check_jobs(check, {{.whole = GridGradient({2, 2, 2}, kAllCut, check.seed())}}, {.delayed_rank = 1});
  });
}

}  // namespace lockstep::exercise
