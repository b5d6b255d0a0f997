#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_4 {

struct Sizes {
  std::size_t rows, columns;
  bool is_counted = false;
};

std::string place(std::size_t row, std::size_t column) { return concat("[", row, ", ", column, "]"); }

// Element i of the input is i, so a result says where it came from.
const Outcome& run_transpose(Check& check, const Sizes& sizes) {
  return check.run({.question = [&](int) {
    std::vector<float> in(sizes.rows * sizes.columns);
    std::iota(in.begin(), in.end(), 0.0F);
    return nlohmann::json{
        {"in", to_message(std::span<const float>(in))}, {"rows", sizes.rows}, {"is_counted", sizes.is_counted}};
  }});
}

void compare_transpose(Check& check, const Sizes& sizes, const Outcome& outcome) {
  const std::size_t rows = sizes.rows, columns = sizes.columns;
  std::vector<double> expected(rows * columns);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<double>(i % rows * columns + i / rows);
  const auto explain = [&](std::size_t i, double got, double) {
    const std::string wanted = concat("out", place(i / rows, i % rows), " should be in", place(i % rows, i / rows));
    if (is_unwritten(static_cast<float>(got))) return concat(wanted, ", but no thread has written it");
    const auto from = static_cast<std::size_t>(got);
    return concat(wanted, ", but it is in", place(from / columns, from % columns));
  };
  check.compare("out", check.numbers<float>(outcome, 0, "out"), expected, {.explain = explain});
}

const Outcome& check_transpose(Check& check, const Sizes& sizes) {
  const Outcome& outcome = run_transpose(check, sizes);
  compare_transpose(check, sizes, outcome);
  return outcome;
}

// Both are run before either is looked at: a tile that no block reads and one that is read and not written leave the
// same elements out of one of them, but not of both. Of the second the loads are counted, too.
void check_tiles(Check& check) {
  const Sizes six{64, 96}, three{32, 96, true};
  const Outcome& of_six = run_transpose(check, six);
  const Outcome& of_three = run_transpose(check, three);
  compare_transpose(check, six, of_six);
  compare_transpose(check, three, of_three);
}

}  // namespace checks_04_4

void judge_04_4(Examination& exam) {
  using namespace checks_04_4;
  exam.check("32 x 32: one tile", [](Check& check) { check_transpose(check, {32, 32}); });
  exam.check("64 x 96: six tiles", check_tiles);
  exam.check("40 x 40: tiles that reach beyond the matrix", [](Check& check) { check_transpose(check, {40, 40}); });
  exam.check("5 x 70: wide", [](Check& check) { check_transpose(check, {5, 70}); });
  exam.check("70 x 5: tall", [](Check& check) { check_transpose(check, {70, 5}); });
  exam.check("full sectors", [](Check& check) {
    const Outcome& outcome = check_transpose(check, {64, 96, true});
    const KernelCounts counts = counts_of(outcome);
    // 6144 floats are 768 sectors.
    expect_at_most(check, outcome, "the loads touch", counts.loads.transactions, 768, "sectors",
                   "neighbouring lanes should read neighbouring elements of a row");
    expect_at_most(check, outcome, "the stores touch", counts.stores.transactions, 768, "sectors",
                   "neighbouring lanes should write neighbouring elements of a row of the output; read them from a "
                   "column of the tile");
  });
  exam.check("no bank conflicts", [](Check& check) {
    const Outcome& outcome = check_transpose(check, {64, 96, true});
    const KernelCounts counts = counts_of(outcome);
    const char* const next =
        "word i of shared memory lies in bank i % 32: in which banks are the 32 words of a column?";
    expect_at_most(check, outcome, "the loads from shared memory take", counts.shared_loads.transactions,
                   counts.shared_loads.fewest, "passes", next);
    expect_at_most(check, outcome, "the stores to shared memory take", counts.shared_stores.transactions,
                   counts.shared_stores.fewest, "passes", next);
  });
  exam.full_check("many shapes", [](Check& check) {
    for (const std::size_t rows : {1, 7, 31, 33, 64})
      for (const std::size_t columns : {1, 9, 32, 65}) check_transpose(check, {rows, columns});
  });
}

}  // namespace lockstep::exercise
