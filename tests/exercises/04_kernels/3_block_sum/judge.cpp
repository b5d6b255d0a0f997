#include <cmath>

#include "base/error.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_3 {

struct Sizes {
  std::size_t rows, columns;
  int threads;
  bool is_counted = false;
};

using Explain = std::function<std::string(std::size_t, double, double)>;

const Outcome& check_moments(Check& check, const Sizes& sizes, const std::vector<float>& in,
                             const Explain& explain_mean = {}) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"in", to_message(std::span<const float>(in))},
                          {"rows", sizes.rows},
                          {"threads", sizes.threads},
                          {"is_counted", sizes.is_counted}};
  }});
  const auto columns = static_cast<double>(sizes.columns);
  std::vector<double> means(sizes.rows), variances(sizes.rows);
  for (std::size_t i = 0; i < in.size(); ++i) means[i / sizes.columns] += in[i] / columns;
  for (std::size_t i = 0; i < in.size(); ++i)
    variances[i / sizes.columns] += std::pow(in[i] - means[i / sizes.columns], 2) / columns;
  // Each addition rounds by at most 6e-8 of a partial sum. A thread adds up to 32 values, a tree has 10 levels.
  constexpr double kRelative = 50 * 6e-8;
  check.compare("mean", check.numbers<float>(outcome, 0, "mean"), means,
                {.relative = kRelative, .absolute = 1e-6, .explain = [&](std::size_t i, double got, double expected) {
                   if (is_unwritten(static_cast<float>(got)))
                     return concat("no thread has written it: row ", i, " needs a block of its own");
                   return explain_mean ? explain_mean(i, got, expected) : "";
                 }});
  check.compare("variance", check.numbers<float>(outcome, 0, "variance"), variances,
                {.relative = kRelative, .absolute = 1e-6, .explain = [](std::size_t, double, double) {
                   return "the means are right: does every thread get the sum of the first call, which it needs for "
                          "the second?";
                 }});
  return outcome;
}

// One row of ones: the sum says how many of 32 lanes were counted.
void check_one_warp(Check& check) {
  check_moments(check, {1, 32, 32}, std::vector<float>(32, 1), [](std::size_t, double got, double) {
    return concat("the sum of 32 ones came out as ", shown(got * 32));
  });
}

// One row, an element per thread: those of warp w are 8^w.
void check_warps(Check& check, int warps) {
  std::vector<float> in;
  for (int warp = 0; warp < warps; ++warp) in.insert(in.end(), 32, static_cast<float>(std::int64_t{1} << (3 * warp)));
  check_moments(check, {1, in.size(), 32 * warps}, in, [&](std::size_t, double got, double) {
    std::string text = explain_sum(std::round(got * warps), warps);  // the mean times all threads / 32
    for (std::size_t at = 0; (at = text.find("rank")) != std::string::npos;) text.replace(at, 4, "warp");
    return text;
  });
}

void check_random(Check& check, const Sizes& sizes) {
  check_moments(check, sizes, random_floats(check.seed(), sizes.columns, sizes.rows * sizes.columns));
}

}  // namespace checks_04_3

void judge_04_3(Examination& exam) {
  using namespace checks_04_3;
  exam.check("one warp", check_one_warp);
  exam.check("two warps", [](Check& check) { check_warps(check, 2); });
  exam.check("three warps: no power of two", [](Check& check) { check_warps(check, 3); });
  exam.check("eight warps", [](Check& check) { check_warps(check, 8); });
  exam.check("fewer elements than threads", [](Check& check) { check_random(check, {2, 50, 128}); });
  exam.check("more elements than threads, several rows", [](Check& check) { check_random(check, {3, 333, 96}); });
  exam.check("32 warps", [](Check& check) { check_random(check, {1, 2000, 1024}); });
  exam.check("few barriers, little traffic in shared memory", [](Check& check) {
    const Outcome& outcome = check.run({.question = [&](int) {
      return nlohmann::json{{"in", to_message(std::span<const float>(random_floats(check.seed(), 0, 256)))},
                            {"rows", 1},
                            {"threads", 256},
                            {"is_counted", true}};
    }});
    const KernelCounts counts = counts_of(outcome);
    // Two calls. A tree in shared memory takes 9 barriers a call. With shuffles 2 are enough, or 3 if the first warp
    // alone adds up the sums and passes the total on, or 4 with one to spare.
    expect_at_most(check, outcome, "in two calls, the block passes", counts.barriers, 8, "barriers",
                   "within a warp no barrier is needed: a shuffle waits for all its lanes");
    // One value per warp, 8 in each call; or 32 more if the places of warps that the block has not are cleared, and a
    // total. A value per thread would be 256.
    expect_at_most(check, outcome, "in two calls, threads write to shared memory",
                   counts.shared_stores.bytes / sizeof(float), 2 * (8 + 32 + 2), "values",
                   "add up within each warp by shuffles first: then only one value per warp has to go through shared "
                   "memory, and an atomic addition is one write for each thread that makes it");
    // Each of 8 warps reads 8 sums: at once, or one after the other, which is as good. Some read the total, too.
    expect_at_most(check, outcome, "in two calls, warps read shared memory", counts.shared_loads.requests,
                   2 * (8 * 8 + 8), "times", "what has to be read there is one value per warp of the block");
  });
  exam.full_check("each block size", [](Check& check) {
    for (int threads = 32; threads <= 1024; threads += 32) check_random(check, {2, 200, threads});
  });
}

}  // namespace lockstep::exercise
