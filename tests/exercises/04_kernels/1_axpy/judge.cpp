#include <cmath>

#include "base/error.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_1 {

// y and x are such that a result says how often x was added: x and a are 1, and y is 8 times the element's number.
std::string explain(std::size_t i, double got, double expected) {
  const double before = 8.0 * static_cast<double>(i), times = got - before;
  if (got == before) return "it has not changed, so no thread has updated it";
  if (got == expected - before) return "that is a x alone, without the old y";
  if (times == -before) return "it was set to 0";
  if (times == std::floor(times) && times > 1 && times < 8) return concat("a x was added ", times, " times");
  return concat("before, it was ", shown(before));
}

const Outcome& check_axpy(Check& check, const std::vector<float>& y, const std::vector<float>& x, double a,
                          const Comparison& comparison) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{
        {"y", to_message(std::span<const float>(y))}, {"x", to_message(std::span<const float>(x))}, {"a", a}};
  }});
  std::vector<double> expected(y.begin(), y.end());
  for (std::size_t i = 0; i < y.size(); ++i) expected[i] += a * x[i];
  check.compare("y", check.numbers<float>(outcome, 0, "y"), expected, comparison);
  return outcome;
}

const Outcome& check_numbered(Check& check, std::size_t count) {
  std::vector<float> y(count);
  for (std::size_t i = 0; i < count; ++i) y[i] = 8 * static_cast<float>(i);
  return check_axpy(check, y, std::vector<float>(count, 1), 1, {.explain = explain});
}

void check_random(Check& check) {
  constexpr double kA = -0.1;
  const std::vector<float> y = random_floats(check.seed(), 0, 1000), x = random_floats(check.seed(), 1, 1000);
  // One rounding in a x, one in the sum: each at most half an ulp of 1.1.
  check_axpy(check, y, x, kA, {.absolute = 2e-7, .explain = [&](std::size_t i, double got, double) -> std::string {
                                 if (std::abs(got - (kA * y[i] + x[i])) < 1e-6)
                                   return "that is a y + x: the factor belongs to x";
                                 if (std::abs(got - kA * (x[i] + y[i])) < 1e-6)
                                   return "that is a (x + y): the factor belongs to x alone";
                                 if (std::abs(got - (x[i] + y[i])) < 1e-6) return "that is x + y, without the factor a";
                                 return "";
                               }});
}

}  // namespace checks_04_1

void judge_04_1(Examination& exam) {
  using namespace checks_04_1;
  exam.check("256 elements: one full block", [](Check& check) { check_numbered(check, 256); });
  exam.check("512 elements: two full blocks", [](Check& check) { check_numbered(check, 512); });
  exam.check("300 elements: the last block is not full", [](Check& check) { check_numbered(check, 300); });
  exam.check("no elements", [](Check& check) { check_numbered(check, 0); });
  exam.check("random numbers, a = -0.1", check_random);
  exam.check("neighbouring threads update neighbouring elements", [](Check& check) {
    const Outcome& outcome = check_numbered(check, 4096);
    const KernelCounts counts = counts_of(outcome);
    const char* const next = "let threadIdx.x, which counts the lanes of a warp, be the fastest part of the index";
    expect_at_most(check, outcome, "the loads touch", counts.loads.transactions, 1024, "sectors", next);
    expect_at_most(check, outcome, "the stores touch", counts.stores.transactions, 512, "sectors", next);
  });
  exam.check("warps are full", [](Check& check) {
    const Outcome& outcome = check_numbered(check, 4096);
    const KernelCounts counts = counts_of(outcome);
    const char* const next =
        "a block of fewer than 32 threads leaves lanes of its warp idle: in <<<blocks, threads, 0, stream>>> the "
        "number "
        "of blocks comes first";
    // 4096 floats are 128 times 32 lanes.
    expect_at_most(check, outcome, "warps load", counts.loads.requests, 256, "times", next);
    expect_at_most(check, outcome, "warps store", counts.stores.requests, 128, "times", next);
  });
  exam.full_check("each count from 1 to 40", [](Check& check) {
    for (std::size_t count = 1; count <= 40; ++count) check_numbered(check, count);
  });
}

}  // namespace lockstep::exercise
