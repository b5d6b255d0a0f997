#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_6 {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// In double precision, in three passes.
std::vector<double> softmax(std::span<const float> row) {
  const double largest = *std::ranges::max_element(row);
  std::vector<double> result;
  double sum = 0;
  for (const float x : row) sum += std::exp(x - largest);
  for (const float x : row) result.push_back(std::exp(x - largest) / sum);
  return result;
}

// The common property of a wrong row: a factor means a wrong sum, unless it is the sum itself.
std::string explain_row(std::span<const float> row, std::span<const float> got, std::span<const double> expected,
                        const std::string& where) {
  double total = 0, sum = 0;
  for (const float y : got) total += y;
  if (std::ranges::any_of(got, is_unwritten)) return concat(where, "; no thread has written some elements of the row");
  if (std::isnan(total))
    return concat(where, "; a value that is no number comes from infinity minus infinity, 0 times infinity, or 0 / 0");
  const double largest = *std::ranges::max_element(row);
  for (const float x : row) sum += std::exp(x - largest);
  const auto most = static_cast<std::size_t>(std::ranges::max_element(expected) - expected.begin());
  const double factor = got[most] / expected[most];
  const bool is_scaled = factor > 0 && std::ranges::equal(got, expected, [&](float y, double right) {
                           return std::abs(y - factor * right) <= 1e-4 * factor * right + 1e-7;
                         });
  if (is_scaled && row.size() > 1 && std::abs(factor - sum) <= 1e-4 * sum)
    return concat(where, "; the elements of the row are exponentials that nothing has divided by their sum, ",
                  shown(sum));
  if (is_scaled && largest != 0 && std::abs(factor - std::exp(largest)) <= 1e-4 * factor)
    return concat(where,
                  "; all elements of the row are exp(maximum) times what they should be: the maximum is subtracted in "
                  "the sum, but not in the output");
  if (is_scaled)
    return concat(where, "; all elements of the row are ", shown(factor),
                  " times what they should be, so the "
                  "sum of exponentials is wrong");
  return concat(where, "; the row adds up to ", shown(total));
}

const Outcome& check_softmax(Check& check, const std::vector<float>& in, std::size_t rows, bool is_counted = false) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"in", to_message(std::span<const float>(in))}, {"rows", rows}, {"is_counted", is_counted}};
  }});
  const auto out = check.numbers<float>(outcome, 0, "out");
  check.expect(out.size() == in.size(), "out changed its length");
  const std::size_t columns = in.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto got = std::span(out).subspan(row * columns, columns);
    const auto x = std::span(in).subspan(row * columns, columns);
    const std::vector<double> expected = softmax(x);
    // expf is off by 2 ulp (2.4e-7), and its argument by half an ulp of the difference, at most 2e-6 for differences up
    // to 32; smaller results fall below the absolute tolerance. Each of up to 20 changes of scale multiplies once more.
    // Maximum + log(sum), if it is rounded to a float, is off by 6e-8 of itself.
    const double relative = 1e-5 + 6e-8 * std::abs(*std::ranges::max_element(x));
    check.compare(concat("row ", row), got, expected,
                  {.relative = relative, .absolute = 1e-7, .explain = [&](std::size_t i, double, double) {
                     return explain_row(x, got, expected, concat("column ", i, " of ", columns));
                   }});
  }
  return outcome;
}

std::vector<float> random_rows(Check& check, std::size_t count, float scale) {
  std::vector<float> in = random_floats(check.seed(), count, count);
  for (float& x : in) x *= scale;
  return in;
}

// From the first element to the last, the values grow (or shrink) by a quarter.
std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = step * static_cast<float>(i);
  return in;
}

void check_masked(Check& check) {
  std::vector<float> in = random_rows(check, 8 * 70, 4);
  for (std::size_t row = 0; row < 8; ++row)  // as in causal attention; row 0 has one element left
    for (std::size_t column = 9 * row + 1; column < 70; ++column) in[70 * row + column] = kMasked;
  check_softmax(check, in, 8);
}

void check_masked_front(Check& check) {
  std::vector<float> in = random_rows(check, 3 * 100, 4);
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 90; ++column) in[100 * row + column] = kMasked;
  check_softmax(check, in, 3);
}

}  // namespace checks_04_6

void judge_04_6(Examination& exam) {
  using namespace checks_04_6;
  // Several a lane: a lane's own sum, the row's, and no sum at all are different.
  exam.check("96 equal values", [](Check& check) { check_softmax(check, std::vector<float>(96, 1), 1); });
  exam.check("32 different values", [](Check& check) { check_softmax(check, random_rows(check, 32, 4), 1); });
  exam.check("values that shrink: the first is the largest",
             [](Check& check) { check_softmax(check, ramp(96, -0.25F), 1); });
  exam.check("values that grow: the largest keeps changing",
             [](Check& check) { check_softmax(check, ramp(96, 0.25F), 1); });
  exam.check("seven rows of 100", [](Check& check) { check_softmax(check, random_rows(check, 700, 4), 7); });
  exam.check("values around 1000", [](Check& check) {
    std::vector<float> in = random_rows(check, 128, 4);
    for (float& x : in) x += 1000;
    check_softmax(check, in, 2);
  });
  exam.check("values around -1000", [](Check& check) {
    std::vector<float> in = random_rows(check, 128, 4);
    for (float& x : in) x -= 1000;
    check_softmax(check, in, 2);
  });
  exam.check("rows of 5: most lanes see no value",
             [](Check& check) { check_softmax(check, random_rows(check, 15, 4), 3); });
  exam.check("masked elements at the end", check_masked);
  exam.check("masked elements at the front", check_masked_front);
  exam.check("two reads, in full sectors", [](Check& check) {
    const Outcome& outcome = check_softmax(check, random_rows(check, 4 * 512, 4), 4, true);
    const KernelCounts counts = counts_of(outcome);
    // 2048 floats are 256 sectors.
    expect_at_most(
        check, outcome, "the loads touch", counts.loads.transactions, 512, "sectors",
        "read a row twice, once for maximum and sum together and once for the output; neighbouring lanes should "
        "read neighbouring values");
    expect_at_most(check, outcome, "the stores touch", counts.stores.transactions, 256, "sectors",
                   "neighbouring lanes should write neighbouring values, each once");
  });
  exam.full_check("rows of 1 to 40", [](Check& check) {
    for (std::size_t columns = 1; columns <= 40; ++columns) check_softmax(check, random_rows(check, 3 * columns, 8), 3);
  });
}

}  // namespace lockstep::exercise
