#include <bit>
#include <cmath>

#include "00_why_many_gpus/cost_model.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_00_3 {

using plan::Algorithm;

// Worked out by hand from the lines in the lesson, in units of alpha * beta; negative: the ring is always slower.
//   star  2 (P-2) more latencies for 2 (P-1) (P-1) / P fewer buffers.
//   mesh  2 P - 3 more latencies for (P-1) (P-2) / P fewer buffers.
//   tree  2 (P-1-L) more latencies for 2 L - 2 (P-1) / P fewer buffers, with L levels.
double crossover_in_units(Algorithm other, int ranks) {
  const double others = ranks - 1;
  if (ranks == 1) return 0;
  if (other == Algorithm::kStar) return ranks * (others - 1) / (others * others);
  if (other == Algorithm::kMesh) return ranks == 2 ? -1 : ranks * (2 * others - 1) / (others * (others - 1));
  const double levels = std::bit_width(static_cast<unsigned>(ranks - 1));
  return (others - levels) / (levels - others / ranks);
}

std::string milliseconds_of(Algorithm algorithm, int ranks, double bytes, const plan::Link& link) {
  return concat(shown(1e3 * plan::all_reduce_cost(algorithm, ranks, bytes).seconds(link)), " ms");
}

// The time of both at some size: the learner can check it by hand.
std::string times_at(Algorithm other, int ranks, double bytes, const plan::Link& link) {
  return concat("at ", shown(bytes), " bytes the ring takes ", milliseconds_of(Algorithm::kRing, ranks, bytes, link),
                ", the ", plan::name_of(other), " ", milliseconds_of(other, ranks, bytes, link));
}

void check_one(Check& check, Algorithm other, int ranks, const plan::Link& link, double got) {
  const double units = crossover_in_units(other, ranks);
  const double expected = units < 0 ? -1 : units * link.alpha_seconds * link.bytes_per_second;
  // A formula is exact up to rounding; a bisection may stop at one part in a million, and does not quite reach 0.
  if (std::abs(got - expected) <= 1e-6 * std::abs(expected) + 1e-6) return;
  const std::string where =
      concat(ranks, ranks == 1 ? " rank" : " ranks", ", ring against ", plan::name_of(other), ", alpha ",
             shown(1e6 * link.alpha_seconds), " us, beta ", shown(link.bytes_per_second / 1e9), " GB/s: ");
  const std::string answer = got == -1 ? "nothing" : shown(got);
  if (expected == -1)
    check.wrong(concat(where, "the ring is slower at every size, so nothing should be returned; got ", answer, "; ",
                       times_at(other, ranks, 1e9, link)));
  if (expected == 0) check.wrong(concat(where, "the ring is never slower, so 0 should be returned; got ", answer));
  const bool can_compare = std::isfinite(got) && got > 0;
  check.wrong(concat(where, "expected ", shown(expected), " bytes, got ", answer,
                     can_compare ? concat("; ", times_at(other, ranks, got, link)) : ""));
}

void check_crossovers(Check& check, Algorithm other, const std::vector<std::int32_t>& ranks, const plan::Link& link) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"other", static_cast<int>(other)},
                          {"ranks", to_message(std::span<const std::int32_t>(ranks))},
                          {"alpha_seconds", link.alpha_seconds},
                          {"bytes_per_second", link.bytes_per_second}};
  }});
  const std::vector<double> sizes = check.numbers<double>(outcome, 0, "sizes");
  check.expect(sizes.size() == ranks.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < sizes.size(); ++i) check_one(check, other, ranks[i], link, sizes[i]);
}

// alpha * beta is 1 MB.
constexpr plan::Link kRound{1e-3, 1e9};

void check_random_links(Check& check) {
  const std::vector<float> random = random_floats(check.seed(), 0, 16);
  for (std::size_t i = 0; i < random.size(); i += 2) {
    const plan::Link link{std::pow(10.0, -5 + 2 * random[i]), std::pow(10.0, 9 + 2 * random[i + 1])};
    const Algorithm other = i % 4 == 0 ? Algorithm::kMesh : Algorithm::kTree;
    check_crossovers(check, other, {3, 4, 5, 6, 7, 8, 9, 48, 1000, 4096}, link);
  }
}

}  // namespace checks_00_3

void judge_00_3(Examination& exam) {
  using namespace checks_00_3;
  exam.check("8 ranks against a tree", [](Check& check) { check_crossovers(check, Algorithm::kTree, {8}, kRound); });
  exam.check("8 ranks against a mesh", [](Check& check) { check_crossovers(check, Algorithm::kMesh, {8}, kRound); });
  exam.check("3, 8 and 64 ranks against a star", [](Check& check) {
    check_crossovers(check, Algorithm::kStar, {3, 8, 64}, kRound);
  });
  exam.check("2 ranks against a star", [](Check& check) { check_crossovers(check, Algorithm::kStar, {2}, kRound); });
  exam.check("2 and 3 ranks against a tree", [](Check& check) {
    check_crossovers(check, Algorithm::kTree, {2, 3}, kRound);
  });
  exam.check("2 ranks against a mesh", [](Check& check) { check_crossovers(check, Algorithm::kMesh, {2}, kRound); });
  exam.check("1 rank", [](Check& check) {
    for (const Algorithm other : {Algorithm::kStar, Algorithm::kMesh, Algorithm::kTree})
      check_crossovers(check, other, {1}, kRound);
  });
  exam.check("64 ranks on NVLink", [](Check& check) {
    check_crossovers(check, Algorithm::kTree, {64}, plan::one_way(plan::known_link("NVLink 4")));
  });
  exam.check("from 4 ranks to 4096 on a network", [](Check& check) {
    const plan::Link network = plan::one_way(plan::known_link("InfiniBand HDR"));
    check_crossovers(check, Algorithm::kTree, {4, 5, 6, 7, 16, 17, 100, 4096}, network);
    check_crossovers(check, Algorithm::kMesh, {3, 4, 5, 16, 100, 4096}, network);
  });
  exam.full_check("links chosen at random", check_random_links);
}

}  // namespace lockstep::exercise
