#include <cmath>

#include "base/error.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_2 {

struct Sizes {
  std::size_t rows, columns;
  int blocks;
  bool is_counted = false;
};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }

using Explain = std::function<std::string(std::size_t, double, double)>;

const Outcome& check_map(Check& check, const Sizes& sizes, const std::vector<float>& in, const std::vector<float>& bias,
                         double tolerance, const Explain& explain) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"in", to_message(std::span<const float>(in))},
                          {"bias", to_message(std::span<const float>(bias))},
                          {"blocks", sizes.blocks},
                          {"is_counted", sizes.is_counted}};
  }});
  std::vector<double> expected(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) expected[i] = gelu(static_cast<double>(in[i]) + bias[i % sizes.columns]);
  check.compare("out", check.numbers<float>(outcome, 0, "out"), expected, {.absolute = tolerance, .explain = explain});
  return outcome;
}

// From 10 on GELU returns its argument. The bias is the column's number, so a result says which bias was added.
const Outcome& check_places(Check& check, const Sizes& sizes) {
  std::vector<float> in, bias;
  for (std::size_t row = 0; row < sizes.rows; ++row)
    in.insert(in.end(), sizes.columns, static_cast<float>(16 + 4096 * row));
  for (std::size_t column = 0; column < sizes.columns; ++column) bias.push_back(static_cast<float>(column));
  return check_map(check, sizes, in, bias, 0, [&](std::size_t i, double got, double) -> std::string {
    const std::string where = concat("row ", i / sizes.columns, ", column ", i % sizes.columns);
    if (is_unwritten(static_cast<float>(got))) return concat("no thread has written it (", where, ")");
    const double added = got - in[i];
    if (added >= 0 && added < static_cast<double>(sizes.columns) && added == std::floor(added))
      return concat("the bias of column ", added, " was added (", where, ")");
    return concat("this is ", where);
  });
}

void check_numbers(Check& check, const Sizes& sizes, float scale) {
  std::vector<float> in = random_floats(check.seed(), 0, sizes.rows * sizes.columns);
  std::vector<float> bias = random_floats(check.seed(), 1, sizes.columns);
  for (float& x : in) x *= scale;
  // |x| is at most 5, and tanhf is off by a few ulp of 1 (1e-7), which the factor x / 2 enlarges.
  check_map(check, sizes, in, bias, 2e-6, [&](std::size_t i, double got, double) -> std::string {
    const auto is = [&](double value) { return std::abs(got - value) <= 4e-6; };
    const double x = in[i], b = bias[i % sizes.columns];
    if (is_unwritten(static_cast<float>(got))) return "no thread has written it";
    if (is(x + b)) return concat("this is in + bias, without GELU (column ", i % sizes.columns, ")");
    if (is(gelu(x) + b)) return "this is GELU(in) + bias: the bias belongs into GELU's argument";
    if (is(gelu(x))) return "this is GELU(in), without the bias";
    return std::isnan(got) ? "the computation gives no number" : "";
  });
}

}  // namespace checks_04_2

void judge_04_2(Examination& exam) {
  using namespace checks_04_2;
  exam.check("1024 elements, one block: a thread has one group", [](Check& check) {
    check_places(check, {8, 128, 1});
  });
  exam.check("200 elements, three blocks: most threads have none", [](Check& check) {
    check_places(check, {5, 40, 3});
  });
  exam.check("6144 elements, two blocks: a thread has several", [](Check& check) {
    check_places(check, {12, 512, 2});
  });
  exam.check("random numbers", [](Check& check) { check_numbers(check, {7, 100, 2}, 4); });
  exam.check("neighbouring threads access neighbouring groups", [](Check& check) {
    const Outcome& outcome = check_places(check, {32, 256, 2, true});
    const KernelCounts counts = counts_of(outcome);
    const char* const next = "in each turn of the loop, neighbouring threads should take neighbouring groups";
    // 8192 floats are 1024 sectors; the bias is read as often as the input.
    expect_at_most(check, outcome, "the threads load", counts.loads.bytes, std::uint64_t{2} * 8192 * 4, "bytes",
                   "load each float of the input once, with the bias that belongs to it, and keep the sum in a "
                   "register until GELU is computed");
    expect_at_most(check, outcome, "the threads store", counts.stores.bytes, std::uint64_t{8192} * 4, "bytes",
                   "store each element once, when it is complete");
    expect_at_most(check, outcome, "the loads touch", counts.loads.transactions, 2048, "sectors", next);
    expect_at_most(check, outcome, "the stores touch", counts.stores.transactions, 1024, "sectors", next);
  });
  exam.check("four floats with each access", [](Check& check) {
    const Outcome& outcome = check_places(check, {32, 256, 2, true});
    const KernelCounts counts = counts_of(outcome);
    const char* const next =
        "load and store whole float4 values; write make_float4(a, b, c, d), because the emulator "
        "takes {a, b, c, d} for four stores";
    // 8192 floats are 64 times 32 lanes times 4.
    expect_at_most(check, outcome, "warps load", counts.loads.requests, 128, "times", next);
    expect_at_most(check, outcome, "warps store", counts.stores.requests, 64, "times", next);
  });
  exam.full_check("many shapes and numbers of blocks", [](Check& check) {
    for (const std::size_t rows : {1, 3, 9})
      for (const std::size_t columns : {4, 36, 260})
        for (const int blocks : {1, 2, 5}) check_places(check, {rows, columns, blocks});
  });
}

}  // namespace lockstep::exercise
