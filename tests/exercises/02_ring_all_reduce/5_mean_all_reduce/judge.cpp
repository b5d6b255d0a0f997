#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_02_5 {

nlohmann::json question_of(const std::vector<float>& values, bool is_stand_in = false) {
  return {{"values", to_message(std::span<const float>(values))}, {"is_stand_in", is_stand_in}};
}

std::string name_of(int ranks, int rank) {
  return concat(ranks, ranks == 1 ? " rank" : " ranks", ": rank ", rank, "'s values");
}

// Whether each rank counts three times at most: a larger number is no plausible explanation.
bool is_plausible(double sum) {
  for (auto rest = static_cast<std::int64_t>(sum); rest > 0; rest /= 8)
    if (rest % 8 > 3) return false;
  return true;
}

std::string explain_mean(double got, double sum, int ranks) {
  if (got == sum) return "this is the sum";
  for (int times = 2; times <= 3; ++times)
    if (std::abs(got * std::pow(ranks, times) - sum) < 1e-6 * sum)
      return concat("this is the sum, divided ", times, " times");
  if (got == std::floor(sum / ranks)) return "this is the mean, cut off to a whole number";
  const std::string undivided = explain_sum(got, ranks);
  if (undivided.find("the sum") != std::string::npos) return undivided;
  if (!undivided.empty() && undivided.find("counted") == std::string::npos)
    return concat("not divided, and ", undivided);
  return is_plausible(got * ranks) ? explain_sum(got * ranks, ranks) : "";
}

// Rank r's share of every element is 8^r, so that P times a mean says who is in it. All but the
// last division is exact.
void check_means(Check& check, TrialOptions options, std::size_t count) {
  const int ranks = options.world_size;
  const auto share_of = [&](int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); };
  options.question = [&](int rank) {
    const std::vector<float> values(count, static_cast<float>(share_of(rank)));
    return question_of(values);
  };
  const Outcome& outcome = check.run(options);
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += share_of(rank);
  for (int rank = 0; rank < ranks; ++rank)
    check.compare(
        name_of(ranks, rank), check.numbers<float>(outcome, rank, "values"),
        std::vector<double>(count, static_cast<float>(sum / ranks)),
        {.relative = 1e-6, .explain = [&](std::size_t, double got, double) { return explain_mean(got, sum, ranks); }});
}

// Multiples of the smallest float whose sum is one of four, while no sum of fewer of them is. So a quarter is exact for
// complete sums only; for all others the division rounds, which raises the processor's flag for underflow.
void check_what_is_divided(Check& check) {
  constexpr int kRanks = 4;
  constexpr float kUnit = std::numeric_limits<float>::denorm_min(), kMean = 1001 * kUnit;
  constexpr std::array<float, kRanks> kMultiples = {1001, 1009, 1021, 973};
  const std::vector<float> means(8, kMean);
  const Outcome& outcome = check.run({.world_size = kRanks, .question = [&](int rank) {
                                        const float value = kMultiples.at(static_cast<std::size_t>(rank)) * kUnit;
                                        return question_of(std::vector<float>(means.size(), value));
                                      }});
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::vector<float> got = check.numbers<float>(outcome, rank, "values");
    const bool has_divided_others = check.get<bool>(outcome, rank, "has_underflown");
    const std::size_t chunk = 2 * static_cast<std::size_t>(ring::finished_chunk_of(rank, kRanks));
    check.expect(got.size() == means.size(), concat("rank ", rank, "'s buffer changed its length"));
    if (got[chunk] == kRanks * kMean)
      check.wrong(concat(name_of(kRanks, rank), ": its finished chunk is the sum",
                         has_divided_others ? "; it has divided other elements instead" : ", and it divides nothing"),
                  "after the first half, divide the chunk finished_chunk_of(rank, world_size)");
    if (got == means && has_divided_others)
      check.wrong(
          concat(name_of(kRanks, rank), " are right, but it has also divided numbers that are no complete sums"),
          "each rank divides its finished chunk only, and once: that is 1/P of the elements");
  }
}

// Rank 1 is the judge's, and says what rank 0 sent in the second half.
void check_passed_on(Check& check) {
  const std::vector<float> of_0(8, 1), of_1(8, 8);
  const Outcome& outcome = check.run(
      {.world_size = 2, .question = [&](int rank) { return rank == 0 ? question_of(of_0) : question_of(of_1, true); }});
  for (const float value : check.numbers<float>(outcome, 1, "passed_on"))
    if (value != 4.5F)
      check.wrong(concat("rank 0 passes on ", shown(value), " in the second half instead of the mean 4.5",
                         value == 9 ? ": this is the sum, so every rank divides all elements by itself" : ""),
                  "divide between the two halves: the finished chunk only, before it is passed on");
}

// Every rank has the smallest float, and so has the mean. A fourth of it is 0.
void check_smallest(Check& check) {
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  constexpr int kRanks = 4;
  const std::vector<float> values(6, kSmallest);
  const Outcome& outcome = check.run({.world_size = kRanks, .question = [&](int) { return question_of(values); }});
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
  options.question = [&](int rank) { return question_of(inputs[static_cast<std::size_t>(rank)]); };
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

}  // namespace checks_02_5

void judge_02_5(Examination& exam) {
  using namespace checks_02_5;
  exam.check("the mean of one rank", [](Check& check) { check_means(check, {.world_size = 1}, 5); });
  exam.check("the finished chunk is divided, and nothing else", check_what_is_divided);
  exam.check("3 ranks, 12 elements", [](Check& check) { check_means(check, {.world_size = 3}, 12); });
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
  exam.check("means are passed on, not sums", check_passed_on);
  exam.check("chunks larger than the kernel's buffers",
             [](Check& check) { check_means(check, {.world_size = 4, .has_small_buffers = true}, 40'000); });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_places(check, {.world_size = 4, .most_at_once = 1}, 301); });
  exam.full_check("8 ranks, the third late",
                  [](Check& check) { check_places(check, {.world_size = 8, .delayed_rank = 2}, 4097); });
}

}  // namespace lockstep::exercise
