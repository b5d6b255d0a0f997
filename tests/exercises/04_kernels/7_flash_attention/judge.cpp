#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_7 {

constexpr std::size_t kWidth = 64;  // numbers per position and head

struct Sizes {
  std::size_t heads, positions;
  bool is_counted = false;
};

struct Input {
  std::vector<float> q, k, v;  // [heads, positions, 64]
};

double score(const Input& in, std::size_t query, std::size_t key) {
  double sum = 0;
  for (std::size_t d = 0; d < kWidth; ++d)
    sum += static_cast<double>(in.q[query * kWidth + d]) * in.k[key * kWidth + d];
  return sum / 8;
}

// In double precision, with all scores of a query at once. `first` is the head's first row, `query` a row of it.
std::vector<double> attention(const Input& in, std::size_t first, std::size_t query) {
  std::vector<double> scores, result(kWidth);
  for (std::size_t key = first; key <= query; ++key) scores.push_back(score(in, query, key));
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& weight : scores) sum += weight = std::exp(weight - largest);
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t d = 0; d < kWidth; ++d) result[d] += scores[i] / sum * in.v[(first + i) * kWidth + d];
  return result;
}

using Explain = std::function<std::string(std::size_t position, std::span<const float> result)>;

const Outcome& check_attention(Check& check, const Sizes& sizes, const Input& in, double tolerance,
                               const Explain& explain = {}) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"q", to_message(std::span<const float>(in.q))},
                          {"k", to_message(std::span<const float>(in.k))},
                          {"v", to_message(std::span<const float>(in.v))},
                          {"heads", sizes.heads},
                          {"is_counted", sizes.is_counted}};
  }});
  const auto out = check.numbers<float>(outcome, 0, "out");
  check.expect(out.size() == in.q.size(), "out changed its length");
  for (std::size_t row = 0; row < sizes.heads * sizes.positions; ++row) {
    const std::size_t head = row / sizes.positions, position = row % sizes.positions;
    const auto result = std::span(out).subspan(row * kWidth, kWidth);
    const auto explain_one = [&](std::size_t, double got, double) -> std::string {
      if (is_unwritten(static_cast<float>(got))) return "no thread has written it";
      if (std::isnan(got)) return "its weights add up to 0 or to infinity";
      return explain ? explain(position, result) : "";
    };
    check.compare(concat("head ", head, ", position ", position), result, attention(in, head * sizes.positions, row),
                  {.absolute = tolerance, .explain = explain_one});
  }
  return outcome;
}

// Positions as people write them: "at positions 0 to 31 and 40".
std::string ranges_of(const std::vector<std::size_t>& positions) {
  std::string text;
  for (std::size_t i = 0; i < positions.size();) {
    std::size_t last = i;
    while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) ++last;
    text += concat(i == 0 ? "" : " and ", positions[i]);
    if (last > i) text += concat(" to ", positions[last]);
    i = last + 1;
  }
  if (text.empty()) return "at no position";
  return concat(positions.size() == 1 ? "at position " : "at positions ", text);
}

// Queries of zeros: all weights are equal. Number d of the value of position p is 1 if d is p % 64, else 0, so number d
// of a result is the weight of position d (and of d + 64, ...).
const Outcome& check_equal_weights(Check& check, const Sizes& sizes) {
  const std::size_t count = sizes.heads * sizes.positions * kWidth;
  Input in{std::vector<float>(count), random_floats(check.seed(), 1, count), std::vector<float>(count)};
  for (std::size_t row = 0; row < sizes.heads * sizes.positions; ++row)
    in.v[row * kWidth + row % sizes.positions % kWidth] = 1;
  // The largest weights are 1, and the division rounds.
  return check_attention(check, sizes, in, 1e-5, [&](std::size_t position, std::span<const float> weights) {
    const auto is_weight = [](float weight) { return weight >= 0 && weight < 1.01F; };
    if (!std::ranges::all_of(weights, is_weight))
      return std::string("each number of each value is 0 or 1 here, and this is no mean of such numbers");
    std::vector<std::size_t> seen;
    double sum = 0;
    for (std::size_t d = 0; d < kWidth; ++d) {
      sum += weights[d];
      if (weights[d] != 0) seen.push_back(d);
    }
    std::string text = concat("position ", position, " looks ", ranges_of(seen), ", and should at ",
                              position == 0 ? "0" : concat("0 to ", position));
    if (sizes.positions > kWidth) text = concat("of the first 64 positions, ", text);
    return std::abs(sum - 1) < 1e-4 ? text : concat(text, "; its weights add up to ", shown(sum), " instead of 1");
  });
}

void check_random(Check& check, const Sizes& sizes, float query_scale) {
  const std::size_t count = sizes.heads * sizes.positions * kWidth;
  Input in{random_floats(check.seed(), 0, count), random_floats(check.seed(), 1, count),
           random_floats(check.seed(), 2, count)};
  for (float& x : in.q) x *= query_scale;
  // A score is a sum of 64 products of up to query_scale / 8 each. Its rounding errors, about 64 times 6e-8 of its
  // largest partial sum, become relative errors of the weights, and so of a mean of values in [-1, 1).
  check_attention(check, sizes, in, 2e-5 * std::max(1.0F, query_scale / 8));
}

}  // namespace checks_04_7

void judge_04_7(Examination& exam) {
  using namespace checks_04_7;
  exam.check("one position", [](Check& check) { check_equal_weights(check, {1, 1}); });
  exam.check("20 positions, all weights equal", [](Check& check) { check_equal_weights(check, {1, 20}); });
  exam.check("20 positions, random numbers", [](Check& check) { check_random(check, {1, 20}, 4); });
  exam.check("64 positions: two tiles", [](Check& check) { check_equal_weights(check, {1, 64}); });
  exam.check("70 positions: two blocks, one nearly empty", [](Check& check) { check_random(check, {1, 70}, 4); });
  exam.check("three heads", [](Check& check) { check_random(check, {3, 33}, 4); });
  exam.check("scores in the hundreds", [](Check& check) { check_random(check, {1, 40}, 1000); });
  exam.check("each block reads each tile once, and none that it does not need", [](Check& check) {
    const Outcome& outcome = check_equal_weights(check, {1, 128, true});
    // Queries: the lanes of 4 warps read a row each, 32 sectors for each of 64 numbers. Keys and values: a tile is 256
    // sectors; the first block needs 2 of both, the second 4.
    const std::uint64_t queries = 4 * 64 * 32, tiles = 2 * (2 + 4) * 256;
    expect_at_most(check, outcome, "the loads touch", counts_of(outcome).loads.transactions, queries + tiles, "sectors",
                   "the last key that a block needs is the one of its last query; all its threads share a tile");
  });
  exam.full_check("more shapes", [](Check& check) {
    for (const std::size_t positions : {31, 32, 33, 65, 97}) check_random(check, {2, positions}, 4);
  });
}

}  // namespace lockstep::exercise
