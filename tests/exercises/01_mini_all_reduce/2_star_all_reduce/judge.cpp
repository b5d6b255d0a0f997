#include <array>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_01_2 {

// Rank r's share of every element is 8^r, so that the sum says who is in it.
double power_of_8(int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); }

void check_star_sums(Check& check, TrialOptions options, std::size_t count) {
  options.question = [&](int rank) {
    const std::vector<float> values(count, static_cast<float>(power_of_8(rank)));
    return nlohmann::json{{"values", to_message(std::span<const float>(values))}};
  };
  const Outcome& outcome = check.run(options);
  double sum = 0;
  for (int rank = 0; rank < options.world_size; ++rank) sum += power_of_8(rank);
  const std::vector<double> expected(count, sum);
  for (int rank = 0; rank < options.world_size; ++rank)
    check.compare(concat("rank ", rank, "'s values"), check.numbers<float>(outcome, rank, "values"), expected,
                  {.explain = [&](std::size_t, double got, double) { return explain_sum(got, options.world_size); }});
}

// Elements that differ: the sums above do not notice elements that have changed places.
void check_star_places(Check& check, TrialOptions options, std::size_t count) {
  std::vector<std::vector<float>> inputs;
  for (int rank = 0; rank < options.world_size; ++rank) inputs.push_back(random_floats(check.seed(), rank, count));
  options.question = [&](int rank) {
    return nlohmann::json{{"values", to_message(std::span<const float>(inputs[rank]))}};
  };
  const Outcome& outcome = check.run(options);
  std::vector<float> sum = inputs.front();
  for (int rank = 1; rank < options.world_size; ++rank)
    for (std::size_t i = 0; i < count; ++i) sum[i] += inputs[rank][i];
  const std::vector<double> expected(sum.begin(), sum.end());
  // No tolerance: the order of additions is prescribed.
  for (int rank = 0; rank < options.world_size; ++rank)
    check.compare(concat("rank ", rank, "'s values"), check.numbers<float>(outcome, rank, "values"), expected);
}

// Floats near 1e8 are multiples of 8: the small addends count only if they come after -1e8. The sum says which did.
void check_star_order(Check& check, int delayed_rank) {
  constexpr std::array<float, 5> kAddends = {1e8F, 1, 2, -1e8F, 0.5F};
  TrialOptions options{.world_size = 5, .delayed_rank = delayed_rank};
  options.question = [&](int rank) {
    return nlohmann::json{{"values", to_message(std::span<const float>(&kAddends[static_cast<std::size_t>(rank)], 1))}};
  };
  const Outcome& outcome = check.run(options);
  const std::vector<double> expected = {0.5};
  for (int rank = 0; rank < options.world_size; ++rank)
    check.compare(concat("the sum of 1e8, 1, 2, -1e8 and 0.5 on rank ", rank),
                  check.numbers<float>(outcome, rank, "values"), expected,
                  {.explain = [](std::size_t, double got, double) {
                    return got == 3.5 ? "that is the sum in double; the header asks for float, after each rank"
                                      : "added in another order than the ranks'";
                  }});
}

void check_star_traffic(Check& check) {
  constexpr int kRanks = 4;
  constexpr std::size_t kCount = 100;
  check_star_sums(check, {.world_size = kRanks}, kCount);
  const std::vector<RankOutcome>& ranks = check.outcomes().back().ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::uint64_t expected = kCount * sizeof(float) * (rank == 0 ? kRanks - 1 : 1);
    const std::uint64_t sent = ranks[static_cast<std::size_t>(rank)].bytes_sent;
    check.expect(sent == expected,
                 concat("rank ", rank, " sent ", sent, " bytes; ",
                        rank == 0 ? "the sum, once to each other rank, takes " : "its values take ", expected));
  }
}

}  // namespace checks_01_2

void judge_01_2(Examination& exam) {
  using namespace checks_01_2;
  exam.check("one rank has nothing to do", [](Check& check) { check_star_sums(check, {.world_size = 1}, 5); });
  // The centre comes last: what a rank sends is under way before a centre that does not want it has returned.
  exam.check("3 ranks, 4 values",
             [](Check& check) { check_star_sums(check, {.world_size = 3, .delayed_rank = 0}, 4); });
  exam.check("2 ranks, 1 value", [](Check& check) { check_star_sums(check, {.world_size = 2}, 1); });
  exam.check("5 ranks, no values", [](Check& check) { check_star_sums(check, {.world_size = 5}, 0); });
  exam.check("every value in its place", [](Check& check) { check_star_places(check, {.world_size = 2}, 1000); });
  exam.check("added in the order of ranks", [](Check& check) {
    check_star_sums(check, {.world_size = 5}, 1);  // all of them, in whatever order
    check_star_order(check, -1);
  });
  exam.check("rank 1 is late, and the order stays the same", [](Check& check) { check_star_order(check, 1); });
  exam.check("nothing is sent twice", check_star_traffic);
  exam.check("more values than the kernel's buffers hold",
             [](Check& check) { check_star_sums(check, {.world_size = 3, .has_small_buffers = true}, 300'000); });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_star_places(check, {.world_size = 4, .most_at_once = 1}, 301); });
  exam.full_check("8 ranks, the centre late", [](Check& check) {
    check_star_places(check, {.world_size = 8, .has_small_buffers = true, .delayed_rank = 0}, 40'001);
  });
}

}  // namespace lockstep::exercise
