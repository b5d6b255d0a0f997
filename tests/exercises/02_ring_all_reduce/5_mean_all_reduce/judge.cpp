#include <bit>
#include <cmath>
#include <limits>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace {

std::string name_of(int ranks, int rank) {
  return concat(ranks, ranks == 1 ? " rank" : " ranks", ": rank ", rank, "'s values");
}

std::string explain_mean(double got, double sum, int ranks) {
  for (int times = 0; times <= ranks; ++times)
    if (got * std::pow(ranks, times) == sum && times != 1)
      return times == 0 ? "this is the sum" : concat("this is the sum, divided ", times, " times");
  const std::string undivided = explain_sum(got, ranks);
  if (!undivided.empty() && undivided.find("counted") == std::string::npos)
    return concat("not divided, and ", undivided);
  return explain_sum(got * ranks, ranks);
}

// Rank r's share of every element is 8^r, so that P times a mean says who is in it. Everything is exact where the
// number of ranks is a power of two.
void check_means(Check& check, TrialOptions options, std::size_t count) {
  const int ranks = options.world_size;
  const auto share_of = [&](int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); };
  options.question = [&](int rank) {
    const std::vector<float> values(count, static_cast<float>(share_of(rank)));
    return nlohmann::json{{"values", to_message(std::span<const float>(values))}};
  };
  const Outcome& outcome = check.run(options);
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += share_of(rank);
  for (int rank = 0; rank < ranks; ++rank)
    check.compare(name_of(ranks, rank), check.numbers<float>(outcome, rank, "values"),
                  std::vector<double>(count, sum / ranks),
                  {.explain = [&](std::size_t, double got, double) { return explain_mean(got, sum, ranks); }});
}

// Every rank has the smallest float, and so has the mean. A fourth of it is 0.
void check_smallest(Check& check) {
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  constexpr int kRanks = 4;
  const std::vector<float> values(6, kSmallest);
  const Outcome& outcome = check.run({.world_size = kRanks, .question = [&](int) {
                                        return nlohmann::json{{"values", to_message(std::span<const float>(values))}};
                                      }});
  for (int rank = 0; rank < kRanks; ++rank)
    check.compare(name_of(kRanks, rank), check.numbers<float>(outcome, rank, "values"),
                  std::vector<double>(values.begin(), values.end()), {.explain = [](std::size_t, double got, double) {
                    return got == 0 ? "it was divided before it was added" : "";
                  }});
}

// Elements that differ. All ranks' bits are compared, not only their values: 0 and -0 are not the same.
void check_places(Check& check, TrialOptions options, std::size_t count) {
  const int ranks = options.world_size;
  std::vector<std::vector<float>> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(random_floats(check.seed(), rank, count));
  options.question = [&](int rank) {
    return nlohmann::json{{"values", to_message(std::span<const float>(inputs[static_cast<std::size_t>(rank)]))}};
  };
  const Outcome& outcome = check.run(options);
  std::vector<double> expected(count);
  for (const std::vector<float>& input : inputs)
    for (std::size_t i = 0; i < count; ++i) expected[i] += static_cast<double>(input[i]) / ranks;
  const std::vector<float> first = check.numbers<float>(outcome, 0, "values");
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = check.numbers<float>(outcome, rank, "values");
    // The order of additions is free: each of them rounds by half an ulp of at most P, and the division by P follows.
    check.compare(name_of(ranks, rank), values, expected, {.absolute = 1e-6});
    for (std::size_t i = 0; i < count; ++i)
      if (std::bit_cast<std::uint32_t>(values[i]) != std::bit_cast<std::uint32_t>(first[i]))
        check.wrong(concat(ranks, " ranks, element ", i, ": rank 0 has ", shown(first[i]), ", rank ", rank, " has ",
                           shown(values[i]), ", which differs in its last bits"),
                    "let one rank compute each element, and copy it to the others");
  }
}

}  // namespace

void judge_02_5(Examination& exam) {
  exam.check("the mean of one rank", [](Check& check) { check_means(check, {.world_size = 1}, 5); });
  exam.check("2 ranks, 8 elements", [](Check& check) { check_means(check, {.world_size = 2}, 8); });
  exam.check("4 ranks, 12 elements", [](Check& check) { check_means(check, {.world_size = 4}, 12); });
  exam.check("4 ranks, 10 elements: uneven chunks", [](Check& check) { check_means(check, {.world_size = 4}, 10); });
  exam.check("4 ranks, 3 elements: an empty chunk", [](Check& check) { check_means(check, {.world_size = 4}, 3); });
  exam.check("the smallest number that there is", check_smallest);
  exam.check("every element in its place, with the same bits on all ranks", [](Check& check) {
    check_places(check, {.world_size = 3}, 1000);
    check_places(check, {.world_size = 5}, 1001);
  });
  exam.check("each rank sends 2 (P-1)/P of the buffer", [](Check& check) {
    check_means(check, {.world_size = 4}, 4000);
    const std::vector<RankOutcome>& ranks = check.outcomes().back().ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      if (ranks[rank].bytes_sent != 6 * 4000)
        check.wrong(concat("rank ", rank, " sent ", ranks[rank].bytes_sent,
                           " bytes; six chunks of a quarter of the buffer are ", 6 * 4000));
  });
  exam.check("chunks larger than the kernel's buffers",
             [](Check& check) { check_means(check, {.world_size = 4, .has_small_buffers = true}, 40'000); });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_places(check, {.world_size = 4, .most_at_once = 1}, 301); });
  exam.full_check("8 ranks, the third late",
                  [](Check& check) { check_places(check, {.world_size = 8, .delayed_rank = 2}, 4097); });
}

}  // namespace lockstep::exercise
