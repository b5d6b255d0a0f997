#include <cmath>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_03_4 {

// counts[s][d]: what rank s sends to rank d.
using Counts = std::vector<std::vector<std::int64_t>>;

// The first element of what s sends to d; the others follow from it, below the next one's first.
double first_of(std::size_t source, std::size_t destination) {
  return 1000.0 * static_cast<double>(source + 1) + 100.0 * static_cast<double>(destination);
}

// "what rank 1 has for rank 0": where an element comes from.
std::string origin_of(double value) {
  if (value == -1) return "nothing was written there";
  if (value == -2) return "this is what lies behind the last part of `in`";
  const double source = std::floor(value / 1000) - 1, rest = value - 1000 * (source + 1);
  const double destination = std::floor(rest / 100);
  if (source < 0 || source > 15 || destination > 9 || rest - 100 * destination > 49) return "";
  return concat("this is element ", rest - 100 * destination, " of what rank ", source, " has for rank ", destination);
}

// "16 bytes, 4 elements"
std::string amount(std::int64_t bytes) { return concat(bytes / 4, bytes == 4 ? " element" : " elements"); }

// The message of a rank to, or from, each of the others.
void check_lengths(Check& check, const Outcome& outcome, const Counts& counts, bool is_sent) {
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto bytes =
        check.numbers<std::int64_t>(outcome, static_cast<int>(rank), is_sent ? "bytes_to" : "bytes_from");
    for (std::size_t peer = 0; peer < counts.size(); ++peer) {
      const std::int64_t expected = 4 * (is_sent ? counts[rank][peer] : counts[peer][rank]);
      if (peer == rank || bytes.at(peer) == expected) continue;
      const bool is_four_times = bytes.at(peer) == 4 * expected && expected > 0;
      check.wrong(concat("rank ", rank, is_sent ? " sends " : " receives ", amount(bytes.at(peer)),
                         is_sent ? " to rank " : " from rank ", peer, "; that part has ", amount(expected)),
                  is_four_times ? "NCCL counts elements, not bytes"
                  : is_sent     ? "in.counts[p] elements go to rank p"
                                : "out.counts[p] elements come from rank p");
    }
  }
}

nlohmann::json question_of(const Counts& counts, int rank, std::int64_t stride, bool is_host_memory = false) {
  const auto own = static_cast<std::size_t>(rank);
  std::vector<std::int64_t> received;
  std::vector<float> first;
  for (std::size_t peer = 0; peer < counts.size(); ++peer) {
    received.push_back(counts[peer][own]);
    first.push_back(static_cast<float>(first_of(own, peer)));
  }
  return {{"sent", to_message(std::span<const std::int64_t>(counts[own]))},
          {"received", to_message(std::span<const std::int64_t>(received))},
          {"first", to_message(std::span<const float>(first))},
          {"stride", stride},
          {"is_host_memory", is_host_memory}};
}

const Outcome& exchange(Check& check, TrialOptions options, const Counts& counts, std::int64_t stride = 1) {
  const std::size_t ranks = counts.size();
  options.world_size = static_cast<int>(ranks);
  options.question = [&](int rank) { return question_of(counts, rank, stride); };
  const Outcome& outcome = check.run(options);
  check_lengths(check, outcome, counts, true);
  check_lengths(check, outcome, counts, false);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> expected;
    std::int64_t position = 0;
    for (std::size_t peer = 0; peer < ranks; ++peer)
      for (std::int64_t i = 0; i < counts[peer][rank]; ++i, ++position)
        if (position % stride == 0) expected.push_back(first_of(peer, rank) + static_cast<double>(i % 50));
    check.compare(concat("rank ", rank, "'s out"), check.numbers<float>(outcome, static_cast<int>(rank), "out"),
                  expected, {.explain = [](std::size_t, double got, double should_be) {
                    return concat(origin_of(got), "; it should be from ", origin_of(should_be).substr(8));
                  }});
  }
  return outcome;
}

Counts equal_counts(std::size_t ranks, std::int64_t count) { return Counts(ranks, std::vector(ranks, count)); }

// Between 0 and 30 elements, which differ in both directions.
Counts uneven_counts(std::uint64_t seed, std::size_t ranks) {
  const std::vector<float> random = random_floats(seed, 0, ranks * ranks);
  Counts counts = equal_counts(ranks, 0);
  for (std::size_t i = 0; i < random.size(); ++i)
    counts[i / ranks][i % ranks] = static_cast<std::int64_t>(15 * (random[i] + 1));
  return counts;
}

void check_calls(Check& check) {
  const Outcome& outcome = exchange(check, {}, equal_counts(4, 10));
  for (int rank = 0; rank < 4; ++rank) {
    check.expect(check.get<bool>(outcome, rank, "copies_own_part"),
                 concat("rank ", rank, "'s own part got into `out` without a call of CUDA or NCCL"),
                 "the host must not read or write device memory, which only the emulator lets it do: "
                 "cudaMemcpyAsync() puts the copy into the stream");
    const auto groups = check.get<std::int64_t>(outcome, rank, "groups");
    if (groups != 1)
      check.wrong(concat("rank ", rank, " should make one group, and made ", groups),
                  groups == 0 ? "ncclGroupStart() before the loop, ncclGroupEnd() after it"
                              : "a group is done before the next one begins: put all peers into one");
    const auto host_waits = check.get<std::string>(outcome, rank, "host_waits");
    if (!host_waits.empty())
      check.wrong(concat("rank ", rank, " calls ", host_waits, "(), which makes the host wait"),
                  "everything belongs into the stream; the caller waits for it");
    const auto in_other_stream = check.get<std::string>(outcome, rank, "in_other_stream");
    if (!in_other_stream.empty())
      check.wrong(concat("rank ", rank, ": ", in_other_stream, "() is not in the stream that was given"),
                  "what writes `in` may still be running in that stream: it is the last argument of ncclSend(), "
                  "ncclRecv() and cudaMemcpyAsync()");
  }
}

void check_refusal(Check& check) {
  const Counts counts = equal_counts(2, 1);
  const Outcome& outcome =
      check.run({.world_size = 2, .question = [&](int rank) { return question_of(counts, rank, 1, true); }});
  for (int rank = 0; rank < 2; ++rank)
    check.expect(
        check.get<bool>(outcome, rank, "has_thrown"),
        "NCCL refused to send memory that is not the device's, and the function returned as if nothing was wrong",
        "every call of NCCL and CUDA returns a code: pass it to nccl_check() or cuda_check()");
}

}  // namespace checks_03_4

void judge_03_4(Examination& exam) {
  using namespace checks_03_4;
  exam.check("one rank copies its own part", [](Check& check) { exchange(check, {}, equal_counts(1, 5)); });
  exam.check("2 ranks, parts of 4", [](Check& check) { exchange(check, {}, equal_counts(2, 4)); });
  exam.check("3 ranks, parts of different lengths", [](Check& check) {
    exchange(check, {}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  });
  exam.check("4 ranks, some parts empty", [](Check& check) {
    exchange(check, {}, {{0, 3, 0, 1}, {2, 0, 0, 0}, {0, 0, 4, 0}, {5, 0, 1, 0}});
  });
  exam.check("2 ranks, large parts", [](Check& check) { exchange(check, {}, equal_counts(2, 1'500'000), 9973); });
  exam.check("one group, and a host that does not wait", check_calls);
  exam.check("an error of NCCL becomes an exception", check_refusal);
  exam.check("lengths chosen at random", [](Check& check) { exchange(check, {}, uneven_counts(check.seed(), 4)); });
  exam.full_check("8 ranks, the third late",
                  [](Check& check) { exchange(check, {.delayed_rank = 2}, uneven_counts(check.seed(), 8)); });
}

}  // namespace lockstep::exercise
