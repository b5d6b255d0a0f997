#include <array>
#include <cmath>
#include <cstdio>

#include "00_why_many_gpus/1_memory_budget/memory_budget.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_00_1 {

using plan::Precision;
using plan::Sharding;

constexpr std::array kPrecisions = {Precision::kFloat32, Precision::kMixed};
constexpr std::array kShardings = {Sharding::kNothing, Sharding::kOptimizer, Sharding::kGradients, Sharding::kWeights};

struct Plan {
  double parameters;
  Precision precision;
  Sharding sharding;
  int world_size;
};

// One of the four numbers: bytes per parameter with each precision, and the first stage that splits it.
struct Part {
  const char* name;
  std::array<double, 2> bytes_per_parameter;  // kFloat32, kMixed
  Sharding first_split;
};

constexpr std::array<Part, 4> kParts = {{{"weights", {4, 2}, Sharding::kWeights},
                                         {"gradients", {4, 2}, Sharding::kGradients},
                                         {"master_weights", {0, 4}, Sharding::kOptimizer},
                                         {"optimizer", {8, 8}, Sharding::kOptimizer}}};

std::string name_of(const Plan& plan) {
  constexpr std::array kStages = {"plain data parallelism", "ZeRO 1", "ZeRO 2", "ZeRO 3"};
  return concat(shown(plan.parameters), " parameters, ", plan.precision == Precision::kMixed ? "kMixed" : "kFloat32",
                ", ", kStages[static_cast<std::size_t>(plan.sharding)], ", ", plan.world_size,
                plan.world_size == 1 ? " rank" : " ranks");
}

// With a number of ranks that has no factor 2, a wrong factor can only mean one thing.
std::string explain(const Plan& plan, const Part& part, double got, double expected) {
  const auto is_factor = [&](double factor) { return std::abs(got - factor * expected) <= 1e-5 * std::abs(got); };
  const double bytes = part.bytes_per_parameter[static_cast<std::size_t>(plan.precision)];
  if (bytes == 0) return ": in float32 the weights are their own master copy";
  if (got == 0) return ": it was left at 0";
  if (plan.world_size > 1 && is_factor(plan.world_size)) return ": this stage splits it, but it was not divided";
  if (plan.world_size > 1 && is_factor(1.0 / plan.world_size))
    return ": it was divided by world_size, but in this stage every rank keeps all of it";
  for (const double factor : {0.25, 0.5, 2.0, 4.0})
    if (is_factor(factor))
      return concat(": that is ", shown(factor * bytes), " bytes per parameter; it takes ", shown(bytes));
  return "";
}

void check_plan(Check& check, const Plan& plan) {
  const Outcome& outcome = check.run({.world_size = 1, .question = [&](int) {
                                        return nlohmann::json{{"parameters", plan.parameters},
                                                              {"precision", static_cast<int>(plan.precision)},
                                                              {"sharding", static_cast<int>(plan.sharding)},
                                                              {"ranks", plan.world_size}};
                                      }});
  const std::vector<float> bytes = check.numbers<float>(outcome, 0, "bytes");
  check.expect(bytes.size() == kParts.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const Part& part = kParts[i];
    const double expected = plan.parameters * part.bytes_per_parameter[static_cast<std::size_t>(plan.precision)] /
                            (plan.sharding >= part.first_split ? plan.world_size : 1);
    // The answer comes as floats, which round by less than 1e-7.
    if (std::abs(bytes[i] - expected) <= 1e-6 * expected) continue;
    check.wrong(concat(name_of(plan), ": ", part.name, " should take ", shown(expected), " bytes, got ",
                       shown(bytes[i]), explain(plan, part, bytes[i], expected)));
  }
}

void check_both_precisions(Check& check, Sharding sharding, int world_size) {
  for (const Precision precision : kPrecisions) check_plan(check, {1000, precision, sharding, world_size});
}

// Sizes that a table of remembered answers does not have.
void check_random_plans(Check& check) {
  const std::vector<float> random = random_floats(check.seed(), 0, 16);
  for (std::size_t i = 0; i < random.size(); i += 2)
    check_plan(check, {std::floor(1e10 * (random[i] + 1.1)), kPrecisions[i / 2 % 2], kShardings[i / 4],
                       3 + static_cast<int>(500 * (random[i + 1] + 1))});
}

}  // namespace checks_00_1

void judge_00_1(Examination& exam) {
  using namespace checks_00_1;
  exam.check("float32 on one rank: 16 bytes per parameter", [](Check& check) {
    check_plan(check, {1000, Precision::kFloat32, Sharding::kNothing, 1});
  });
  exam.check("mixed precision on one rank: 16 bytes as well", [](Check& check) {
    check_plan(check, {1000, Precision::kMixed, Sharding::kNothing, 1});
  });
  exam.check("plain data parallelism on 5 ranks",
             [](Check& check) { check_both_precisions(check, Sharding::kNothing, 5); });
  exam.check("ZeRO 1 on 5 ranks", [](Check& check) { check_both_precisions(check, Sharding::kOptimizer, 5); });
  exam.check("ZeRO 2 on 5 ranks", [](Check& check) { check_both_precisions(check, Sharding::kGradients, 5); });
  exam.check("ZeRO 3 on 5 ranks", [](Check& check) { check_both_precisions(check, Sharding::kWeights, 5); });
  exam.check("shares that are no whole number", [](Check& check) {
    check_plan(check, {10, Precision::kFloat32, Sharding::kWeights, 7});
  });
  exam.check("70 billion parameters on 48 ranks", [](Check& check) {
    check_plan(check, {70e9, Precision::kMixed, Sharding::kGradients, 48});
  });
  exam.full_check("sizes chosen at random", check_random_plans);
}

}  // namespace lockstep::exercise
