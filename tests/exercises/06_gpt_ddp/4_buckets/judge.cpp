#include <algorithm>
#include <utility>

#include "../../require_awaited.hpp"
#include "../shares.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_06_4 {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kAligned = 16;  // floats

struct Limits {
  std::int64_t first_bytes, bytes;
};

// One bucket, as the header's rules put it: parameters from `last` down to `first`.
struct Range {
  std::int64_t first, last;
};

Numbers begins_in(const Range& range, const Numbers& counts) {
  Numbers begins;
  std::int64_t end = 0;
  for (std::int64_t p = range.last; p >= range.first; --p) {
    begins.push_back(end);
    end += (counts[static_cast<std::size_t>(p)] + kAligned - 1) / kAligned * kAligned;
  }
  begins.push_back(end);  // the bucket's count
  return begins;
}

// Elements up to the end of the last gradient, without the gap after it.
std::int64_t used_in(const Range& range, const Numbers& counts) {
  return begins_in(range, counts).end()[-2] + counts[static_cast<std::size_t>(range.first)];
}

// Each bucket is the longest run of parameters that fits, or one parameter.
std::vector<Range> expected_buckets(const Numbers& counts, const Limits& limits) {
  std::vector<Range> buckets;
  for (auto last = static_cast<std::int64_t>(counts.size()) - 1; last >= 0;) {
    const std::int64_t limit = buckets.empty() ? limits.first_bytes : limits.bytes;
    std::int64_t first = last;
    while (first > 0 && used_in({first - 1, last}, counts) * 4 <= limit) --first;
    buckets.push_back({first, last});
    last = first - 1;
  }
  return buckets;
}

// Where each parameter of a bucket ends, and where the next one would: why the bucket ends there.
std::string explain_end(const Range& range, const Numbers& counts, std::int64_t limit) {
  std::string text = concat("its limit is ", limit, " bytes");
  for (std::int64_t p = range.last; p >= range.first; --p)
    text += concat("; parameter ", p, " ends at byte ", 4 * used_in({p, range.last}, counts));
  if (range.first == 0) return text;
  return concat(text, "; parameter ", range.first - 1, " would end at byte ",
                4 * used_in({range.first - 1, range.last}, counts));
}

void check_bucket(Check& check, std::size_t bucket, const Range& range, const Numbers& counts, std::int64_t limit,
                  std::span<const std::int64_t> parameters, std::span<const std::int64_t> begins, std::int64_t count) {
  Numbers wanted;
  for (std::int64_t p = range.last; p >= range.first; --p) wanted.push_back(p);
  if (!std::ranges::equal(parameters, wanted))
    check.wrong(
        concat("bucket ", bucket, " should hold the parameters ", list(wanted), ", but holds ", list(parameters)),
        explain_end(range, counts, limit));
  Numbers places = begins_in(range, counts);
  const std::int64_t wanted_count = places.back();
  places.pop_back();
  if (!std::ranges::equal(begins, places))
    check.wrong(concat("bucket ", bucket, ": its gradients should begin at the elements ", list(places),
                       " but begin at ", list(begins)),
                "a gradient begins at the next multiple of 16 elements behind the one before it");
  check.expect(count == wanted_count, concat("bucket ", bucket, " should have a count of ", wanted_count, ", not ",
                                             count, ": the gap after the last gradient counts too"));
}

void check_layout(Check& check, const Numbers& counts, const Limits& limits) {
  const Outcome& outcome = check.run({.world_size = 1, .question = [&](int) {
                                        return nlohmann::json{{"what", "lay out"},
                                                              {"counts", to_message(std::span(counts))},
                                                              {"first_bytes", limits.first_bytes},
                                                              {"bytes", limits.bytes}};
                                      }});
  const Numbers parameters = check.numbers<std::int64_t>(outcome, 0, "parameters"),
                begins = check.numbers<std::int64_t>(outcome, 0, "begins"),
                sizes = check.numbers<std::int64_t>(outcome, 0, "sizes");
  const std::vector<Range> expected = expected_buckets(counts, limits);
  std::size_t parameter = 0, begin = 0;
  for (std::size_t b = 0; b < std::min(expected.size(), sizes.size() / 3); ++b) {
    const auto parameter_count = static_cast<std::size_t>(sizes[3 * b]),
               begin_count = static_cast<std::size_t>(sizes[3 * b + 1]);
    check_bucket(check, b, expected[b], counts, b == 0 ? limits.first_bytes : limits.bytes,
                 std::span(parameters).subspan(parameter, parameter_count),
                 std::span(begins).subspan(begin, begin_count), sizes[3 * b + 2]);
    parameter += parameter_count;
    begin += begin_count;
  }
  check.expect(sizes.size() / 3 == expected.size(),
               concat("there should be ", expected.size(), " buckets, not ", sizes.size() / 3));
}

// Where the gradients are to lie in check_means(), given to the ranks: it does not depend on the learner's layout.
struct Placement {
  Numbers counts;
  std::vector<Range> buckets;
};

nlohmann::json question_of(const Placement& placement, std::span<const float> values) {
  Numbers parameters, begins, sizes;
  for (const Range& range : placement.buckets) {
    for (std::int64_t p = range.last; p >= range.first; --p) parameters.push_back(p);
    const Numbers places = begins_in(range, placement.counts);
    begins.insert(begins.end(), places.begin(), places.end() - 1);
    sizes.insert(sizes.end(), {static_cast<std::int64_t>(places.size()) - 1, 0, places.back()});
  }
  return {{"what", "average"},
          {"values", to_message(values)},
          {"counts", to_message(std::span(placement.counts))},
          {"parameters", to_message(std::span<const std::int64_t>(parameters))},
          {"begins", to_message(std::span<const std::int64_t>(begins))},
          {"sizes", to_message(std::span<const std::int64_t>(sizes))}};
}

void check_all_reduces(Check& check, const Outcome& outcome, const Placement& placement, int rank) {
  Numbers expected;
  for (const Range& range : placement.buckets) expected.push_back(begins_in(range, placement.counts).back());
  const Numbers counts = check.numbers<std::int64_t>(outcome, rank, "all_reduces");
  check.expect(counts == expected, concat("rank ", rank, " issued all-reduces of ", list(counts),
                                          " elements; the buckets have ", list(expected)));
}

// The buffer that was sent: each gradient where `begins` says, as it was or divided already, and zeros between them.
void check_sent(Check& check, const Outcome& outcome, const Placement& placement, int rank, int ranks,
                std::span<const float> values) {
  const std::vector<float> sent = check.numbers<float>(outcome, rank, "sent");
  std::vector<std::size_t> first_of;  // by parameter: in `values`
  for (std::size_t next = 0; const std::int64_t count : placement.counts)
    first_of.push_back(std::exchange(next, next + static_cast<std::size_t>(count)));
  std::size_t bucket_begin = 0;
  for (std::size_t b = 0; b < placement.buckets.size(); ++b) {
    const Range& range = placement.buckets[b];
    const Numbers begins = begins_in(range, placement.counts);
    std::vector<double> wanted(static_cast<std::size_t>(begins.back()));
    for (std::int64_t p = range.last; p >= range.first; --p)
      for (std::int64_t i = 0; i < placement.counts[static_cast<std::size_t>(p)]; ++i)
        wanted[static_cast<std::size_t>(begins[static_cast<std::size_t>(range.last - p)] + i)] =
            values[first_of[static_cast<std::size_t>(p)] + static_cast<std::size_t>(i)];
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double got = sent.at(bucket_begin + i);
      const Tolerance rounding{.relative = 1e-6};
      if (rounding.accepts(got, wanted[i]) || rounding.accepts(got, wanted[i] / ranks)) continue;
      const std::string place = concat("rank ", rank, ", all-reduce of bucket ", b, ", element ", i);
      if (wanted[i] == 0)
        check.wrong(concat(place, " lies in a gap between gradients, and ", shown(got), " was sent there, not 0"),
                    "a gradient begins where `begins` says; the rest of a bucket's block is zeros");
      check.wrong(concat(place, ": ", shown(got), " was sent; the gradient that lies there has ", shown(wanted[i])),
                  "a gradient begins where `begins` says");
    }
    bucket_begin += wanted.size();
  }
}

// Each rank's share of an element, plus a number that says which parameter's and which element it is, the same on all
// ranks. All sums are whole numbers below 2^24, so floats hold them exactly. Products with 1 / ranks, and quotients
// before the sum, are rounded.
void check_means(Check& check, const Placement& placement, TrialOptions options) {
  const int ranks = options.world_size;
  const auto offset_of = [](std::size_t p, std::int64_t i) {
    return static_cast<double>(512 * p) + 8192.0 * static_cast<double>(i % 256);
  };
  const auto values_of = [&](int rank) {
    std::vector<float> values;
    for (std::size_t p = 0; p < placement.counts.size(); ++p)
      for (std::int64_t i = 0; i < placement.counts[p]; ++i)
        values.push_back(share_in_mean(rank, ranks) + static_cast<float>(offset_of(p, i)));
    return values;
  };
  options.question = [&](int rank) { return question_of(placement, values_of(rank)); };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, ranks);
  const std::vector<KnownFactor> factors = {
      {static_cast<double>(ranks), "that is the sum; it is not divided by the number of ranks"},
      {1.0 / ranks, "it is divided by the number of ranks twice"},
      {static_cast<double>(ranks) / static_cast<double>(placement.buckets.size()),
       "it is divided by the number of buckets, not of ranks"}};
  for (int rank = 0; rank < ranks; ++rank) check_all_reduces(check, outcome, placement, rank);
  const double mean = mean_of_shares(all_ranks(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = check.numbers<float>(outcome, rank, "values"), own = values_of(rank);
    std::size_t next = 0;
    for (std::size_t p = 0; p < placement.counts.size(); ++p) {
      std::vector<double> expected;
      for (std::int64_t i = 0; i < placement.counts[p]; ++i) expected.push_back(mean + offset_of(p, i));
      check.compare(
          concat("rank ", rank, ", gradient of parameter ", p), std::span(values).subspan(next, expected.size()),
          expected,
          {.relative = 1e-6,
           .explain =
               [&](std::size_t, double got, double wanted) {
                 const double offset = wanted - mean;
                 if (got == wanted * ranks) return concat("that is the sum; the mean divides it by ", ranks);
                 if (got == 0)
                   return std::string(
                       "zeros are what the gaps of a bucket hold, and what a quotient of two integers makes of a sum");
                 if (got == share_in_mean(rank, ranks) + offset) return std::string("that is this rank's own value");
                 if (got >= mean && std::fmod(got - mean, 512) == 0)
                   return std::string("that value belongs to another gradient or element of the bucket");
                 return explain_mean(got - offset, mean, ranks);
               },
           .knowledge = ArrayKnowledge{.before = std::span(own).subspan(next, expected.size()), .factors = factors}});
      next += expected.size();
    }
    check_sent(check, outcome, placement, rank, ranks, own);
  }
}

// Parameters as a GPT has them, from the embedding to the head.
Numbers gpt_counts(std::int64_t width, std::int64_t layers, std::int64_t vocabulary) {
  Numbers counts = {vocabulary * width, 64 * width};
  for (std::int64_t layer = 0; layer < layers; ++layer)
    counts.insert(counts.end(), {width, width, 3 * width * width, 3 * width, width * width, width, width, width,
                                 4 * width * width, 4 * width, 4 * width * width, width});
  counts.insert(counts.end(), {width, width});
  return counts;
}

Numbers random_counts(PhiloxSequence& random, std::size_t number, std::uint64_t most) {
  Numbers counts;
  for (std::size_t i = 0; i < number; ++i) counts.push_back(static_cast<std::int64_t>(1 + random.next_below(most)));
  return counts;
}

}  // namespace checks_06_4

void judge_06_4(Examination& exam) {
  using namespace checks_06_4;
  exam.check("layout: one bucket, from the last parameter to the first", [](Check& check) {
    check_layout(check, {16, 32, 16}, {1 << 20, 1 << 20});
  });
  exam.check("layout: gradients begin at multiples of 64 bytes", [](Check& check) {
    check_layout(check, {5, 20, 3}, {1 << 20, 1 << 20});
  });
  exam.check("layout: bucket 0 has a limit of its own", [](Check& check) {
    check_layout(check, {16, 16, 16, 16, 16, 16, 16}, {128, 192});
  });
  exam.check("layout: a bucket never exceeds its limit", [](Check& check) {
    check_layout(check, {16, 32, 48, 16, 32}, {192, 256});
  });
  exam.check("layout: the gaps count, but not the one after the last gradient", [](Check& check) {
    check_layout(check, {10, 4, 4, 1, 1, 3, 20}, {80, 68 + 64});
  });
  exam.check("layout: parameters larger than the limit", [](Check& check) {
    check_layout(check, {100, 10, 200, 10, 300}, {256, 512});
    check_layout(check, {1000}, {64, 64});
  });
  exam.check("layout: no parameters, no buckets", [](Check& check) { check_layout(check, {}, {1 << 20, 1 << 20}); });
  exam.check("mean: 2 ranks, three buckets", [](Check& check) {
    check_means(check, {{16, 16, 16, 16}, {{2, 3}, {1, 1}, {0, 0}}}, {.world_size = 2});
  });
  exam.check("mean: 3 ranks, three buckets with gaps", [](Check& check) {
    check_means(check, {{7, 20, 1, 33, 16}, {{4, 4}, {1, 3}, {0, 0}}}, {.world_size = 3});
  });
  exam.check("mean: the ranks come at different times", [](Check& check) {
    check_means(check, {{40, 5, 300}, {{1, 2}, {0, 0}}}, {.world_size = 4, .delayed_rank = 2});
  });
  exam.full_check("layout: a GPT with 10 million parameters, PyTorch's limits", [](Check& check) {
    check_layout(check, gpt_counts(384, 6, 2048), {1 << 20, 25 << 20});
    check_layout(check, gpt_counts(100, 3, 500), {20'000, 100'000});
  });
  exam.full_check("layout: random sizes", [](Check& check) {
    PhiloxSequence random(check.seed(), 64);
    for (int round = 0; round < 20; ++round)
      check_layout(check, random_counts(random, 30, 100), {256 + 4 * round, 600 + 12 * round});
  });
  exam.full_check("mean: 3 ranks, 200 000 values through small buffers", [](Check& check) {
    check_means(check, {{100'000, 3, 99'997}, {{1, 2}, {0, 0}}}, {.world_size = 3, .has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
