#include "02_ring_all_reduce/ring_schedule.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_02_1 {

// Rank r's share of every element is 8^r, so that the sum says who is in it.
double share_of(int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); }

const Outcome& run_sums(Check& check, TrialOptions options, std::int64_t count) {
  options.question = [&](int rank) {
    const std::vector<float> values(count, static_cast<float>(share_of(rank)));
    return nlohmann::json{{"values", to_message(std::span<const float>(values))}};
  };
  return check.run(options);
}

void compare_sums(Check& check, const Outcome& outcome, std::int64_t count) {
  const int ranks = static_cast<int>(outcome.ranks.size());
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += share_of(rank);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = check.numbers<float>(outcome, rank, "values");
    check.expect(values.size() == static_cast<std::size_t>(count),
                 concat("rank ", rank, "'s buffer changed its length"));
    const int index = ring::finished_chunk_of(rank, ranks);
    const ring::Chunk chunk = ring::chunk_of(count, index, ranks);
    check.compare(concat("rank ", rank, "'s finished chunk (chunk ", index, ")"),
                  std::span(values).subspan(chunk.begin, chunk.count), std::vector<double>(chunk.count, sum),
                  {.explain = [&](std::size_t, double got, double) { return explain_sum(got, ranks); }});
  }
}

void check_sums(Check& check, const TrialOptions& options, std::int64_t count) {
  compare_sums(check, run_sums(check, options, count), count);
}

// Both are run before either is looked at: with 3 ranks alone, two mistakes can look the same.
void check_3_and_4_ranks(Check& check) {
  const Outcome& of_3 = run_sums(check, {.world_size = 3}, 12);
  const Outcome& of_4 = run_sums(check, {.world_size = 4}, 12);
  compare_sums(check, of_3, 12);
  compare_sums(check, of_4, 12);
}

// Elements that differ: chunks that are mixed up give the right digits above, but not the right sums here.
void check_places(Check& check, TrialOptions options, std::int64_t count) {
  std::vector<std::vector<float>> inputs;
  for (int rank = 0; rank < options.world_size; ++rank) inputs.push_back(random_floats(check.seed(), rank, count));
  options.question = [&](int rank) {
    return nlohmann::json{{"values", to_message(std::span<const float>(inputs[rank]))}};
  };
  const Outcome& outcome = check.run(options);
  for (int rank = 0; rank < options.world_size; ++rank) {
    const std::vector<float> values = check.numbers<float>(outcome, rank, "values");
    const int index = ring::finished_chunk_of(rank, options.world_size);
    const ring::Chunk chunk = ring::chunk_of(count, index, options.world_size);
    std::vector<double> expected(chunk.count);
    for (const std::vector<float>& input : inputs)
      for (std::int64_t i = 0; i < chunk.count; ++i) expected[i] += input[chunk.begin + i];
    // The order of additions is free: each of them rounds by half an ulp of at most world_size.
    check.compare(concat("rank ", rank, "'s finished chunk (chunk ", index, ")"),
                  std::span(values).subspan(chunk.begin, chunk.count), expected, {.absolute = 1e-5});
  }
}

}  // namespace checks_02_1

void judge_02_1(Examination& exam) {
  using namespace checks_02_1;
  exam.check("one rank has nothing to do", [](Check& check) { check_sums(check, {.world_size = 1}, 5); });
  exam.check("3 ranks, 12 elements", check_3_and_4_ranks);
  exam.check("2 ranks, 8 elements", [](Check& check) { check_sums(check, {.world_size = 2}, 8); });
  exam.check("4 ranks, 10 elements: uneven chunks", [](Check& check) { check_sums(check, {.world_size = 4}, 10); });
  exam.check("4 ranks, 3 elements: an empty chunk", [](Check& check) { check_sums(check, {.world_size = 4}, 3); });
  exam.check("every element in its place", [](Check& check) { check_places(check, {.world_size = 3}, 1000); });
  exam.check("each rank sends (P-1)/P of the buffer", [](Check& check) {
    check_sums(check, {.world_size = 4}, 4000);
    for (const RankOutcome& rank : check.outcomes().back().ranks)
      check.expect(rank.bytes_sent == 3 * 4000,
                   concat("a rank sent ", rank.bytes_sent, " bytes; three chunks of a quarter are ", 3 * 4000));
  });
  exam.check("chunks larger than the kernel's buffers",
             [](Check& check) { check_sums(check, {.world_size = 3, .has_small_buffers = true}, 300'000); });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_places(check, {.world_size = 4, .most_at_once = 1}, 301); });
  exam.full_check("8 ranks, the third late",
                  [](Check& check) { check_places(check, {.world_size = 8, .delayed_rank = 2}, 4097); });
}

}  // namespace lockstep::exercise
