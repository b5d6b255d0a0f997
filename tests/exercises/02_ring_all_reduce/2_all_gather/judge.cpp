#include <cmath>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_02_2 {

// A finished chunk's value says where it belongs: chunk c's element i is (c + 1) * kChunkStride + i. A value that is
// not finished says whose it is: -(r + 1) / 16 for rank r. Floats hold these, and sums of one of each, exactly.
constexpr std::int64_t kChunkStride = 100'000;

float finished_value(int chunk, std::int64_t element) {
  return static_cast<float>((chunk + 1) * kChunkStride + element);
}

float unfinished_value(int rank) { return -static_cast<float>(rank + 1) / 16; }

std::string explain_value(double got, int rank, int ranks) {
  if (!(std::abs(got) < static_cast<double>((ranks + 1) * kChunkStride))) return "";
  const double whole = std::ceil(got), owner = (whole - got) * 16 - 1;
  const bool is_finished = owner == -1;
  if (!is_finished && (owner != std::floor(owner) || owner >= ranks)) return "";
  const std::string whose = concat("a value that rank ", owner, " had before the call");
  if (whole == 0 && !is_finished)
    return owner == rank ? "this rank's value from before the call" : concat(whose, ", and that is not finished");
  const auto value = static_cast<std::int64_t>(whole);
  if (value < kChunkStride) return "";
  const std::string place = concat("element ", value % kChunkStride, " of chunk ", value / kChunkStride - 1);
  return is_finished ? place : concat(place, " plus ", whose);
}

std::vector<float> values_before(int rank, int ranks, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count), unfinished_value(rank));
  const int index = ring::finished_chunk_of(rank, ranks);
  const ring::Chunk chunk = ring::chunk_of(count, index, ranks);
  for (std::int64_t i = 0; i < chunk.count; ++i)
    values[static_cast<std::size_t>(chunk.begin + i)] = finished_value(index, i);
  return values;
}

const Outcome& check_gather(Check& check, TrialOptions options, std::int64_t count) {
  const int ranks = options.world_size;
  options.question = [&](int rank) {
    return nlohmann::json{{"values", to_message(std::span<const float>(values_before(rank, ranks, count)))}};
  };
  const Outcome& outcome = check.run(options);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = check.numbers<float>(outcome, rank, "values");
    check.expect(values.size() == static_cast<std::size_t>(count),
                 concat("rank ", rank, "'s buffer changed its length"));
    for (int index = 0; index < ranks; ++index) {
      const ring::Chunk chunk = ring::chunk_of(count, index, ranks);
      std::vector<double> expected;
      for (std::int64_t i = 0; i < chunk.count; ++i) expected.push_back(finished_value(index, i));
      check.compare(concat("rank ", rank, "'s chunk ", index),
                    std::span(values).subspan(static_cast<std::size_t>(chunk.begin), expected.size()), expected,
                    {.explain = [&](std::size_t, double got, double) { return explain_value(got, rank, ranks); }});
    }
  }
  return outcome;
}

}  // namespace checks_02_2

void judge_02_2(Examination& exam) {
  using namespace checks_02_2;
  exam.check("one rank has nothing to do", [](Check& check) { check_gather(check, {.world_size = 1}, 5); });
  exam.check("3 ranks, 12 elements", [](Check& check) { check_gather(check, {.world_size = 3}, 12); });
  exam.check("2 ranks, 8 elements", [](Check& check) { check_gather(check, {.world_size = 2}, 8); });
  exam.check("4 ranks, 10 elements: uneven chunks", [](Check& check) { check_gather(check, {.world_size = 4}, 10); });
  exam.check("4 ranks, 3 elements: an empty chunk", [](Check& check) { check_gather(check, {.world_size = 4}, 3); });
  exam.check("each rank sends (P-1)/P of the buffer", [](Check& check) {
    const Outcome& outcome = check_gather(check, {.world_size = 4}, 4000);
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
      check.expect(outcome.ranks[rank].bytes_sent == 3 * 4000,
                   concat("rank ", rank, " sent ", outcome.ranks[rank].bytes_sent,
                          " bytes; three chunks of a quarter of the buffer are ", 3 * 4000));
  });
  exam.check("chunks larger than the kernel's buffers",
             [](Check& check) { check_gather(check, {.world_size = 3, .has_small_buffers = true}, 300'000); });
  exam.full_check("a byte at a time",
                  [](Check& check) { check_gather(check, {.world_size = 4, .most_at_once = 1}, 301); });
  exam.full_check("8 ranks, the third late",
                  [](Check& check) { check_gather(check, {.world_size = 8, .delayed_rank = 2}, 4097); });
}

}  // namespace lockstep::exercise
