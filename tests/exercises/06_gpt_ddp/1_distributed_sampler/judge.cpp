#include <algorithm>

#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "wrong_shares.hpp"

namespace lockstep::exercise {
namespace checks_06_1 {

using ddp::EpochOptions;
using ddp::UnevenSamples;

// The order of the whole epoch, as one array: padded or cut to a multiple of the number of ranks.
std::vector<std::int64_t> whole_epoch(const EpochOptions& options) {
  const std::vector<std::int64_t> order = ddp::permutation(options.sample_count, options.seed, options.epoch);
  std::vector<std::int64_t> whole = order;
  while (whole.size() % static_cast<std::size_t>(options.world_size) != 0) {
    if (options.remainder == UnevenSamples::kDrop) {
      whole.pop_back();
    } else {
      whole.push_back(order[whole.size() % order.size()]);
    }
  }
  return whole;
}

// An explanation of a wrong sample, from its place in the epoch's order.
std::string explain_sample(std::int64_t sample, std::int64_t wanted_position, const EpochOptions& options) {
  if (sample < 0 || sample >= options.sample_count) return "there is no such sample";
  const std::vector<std::int64_t> order = ddp::permutation(options.sample_count, options.seed, options.epoch);
  const auto place = std::ranges::find(order, sample) - order.begin();
  return concat("it stands at position ", place, " of the epoch's order; the sample at position ",
                wanted_position % options.sample_count, " belongs here");
}

// The wrong rules that give every rank what it has got.
std::string explain_shares(const std::vector<std::vector<std::int64_t>>& shares, const EpochOptions& options) {
  std::vector<std::string> causes;
  for (const WrongShare& wrong : kWrongShares) {
    bool fits = true;
    for (std::size_t rank = 0; rank < shares.size() && fits; ++rank)
      fits = shares[rank] == share_by(wrong, static_cast<std::int64_t>(rank), options);
    if (fits) causes.emplace_back(wrong.what);
  }
  return what_comes_out(causes);
}

void check_rank(Check& check, int rank, const std::vector<std::vector<std::int64_t>>& shares,
                const std::vector<std::int64_t>& whole, const EpochOptions& options) {
  const std::vector<std::int64_t>& got = shares[static_cast<std::size_t>(rank)];
  const auto meaning = [&](const std::string& otherwise) {
    const std::string rule = explain_shares(shares, options);
    return rule.empty() ? otherwise : concat(": ", rule);
  };
  const std::int64_t ranks = options.world_size;
  const std::int64_t wanted_count = static_cast<std::int64_t>(whole.size()) / ranks;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(wanted_count, static_cast<std::int64_t>(got.size())); ++i) {
    const std::int64_t position = i * ranks + rank, sample = got[static_cast<std::size_t>(i)];
    const std::int64_t wanted = whole[static_cast<std::size_t>(position)];
    if (sample != wanted)
      check.wrong(concat("rank ", rank, ", element ", i, ": expected sample ", wanted, ", got ", sample,
                         meaning(concat(": ", explain_sample(sample, position, options)))));
  }
  if (static_cast<std::int64_t>(got.size()) != wanted_count)
    check.wrong(concat("rank ", rank, " has ", got.size(), " samples; each of ", ranks, " ranks should have ",
                       wanted_count, " of the ", options.sample_count, meaning("")));
}

void check_epoch(Check& check, EpochOptions options) {
  options.seed = check.seed() + 17;
  const Outcome& outcome =
      check.run({.world_size = options.world_size, .question = [&](int) {
                   return nlohmann::json{{"sample_count", options.sample_count},
                                         {"seed", options.seed},
                                         {"epoch", options.epoch},
                                         {"drops_remainder", options.remainder == UnevenSamples::kDrop}};
                 }});
  const std::vector<std::int64_t> whole = whole_epoch(options);
  std::vector<std::vector<std::int64_t>> shares(static_cast<std::size_t>(options.world_size));
  for (int rank = 0; rank < options.world_size; ++rank)
    if (check.get<std::int64_t>(outcome, rank, "count") != 0)
      shares[static_cast<std::size_t>(rank)] = check.numbers<std::int64_t>(outcome, rank, "indices");
  for (int rank = 0; rank < options.world_size; ++rank) check_rank(check, rank, shares, whole, options);
}

}  // namespace checks_06_1

void judge_06_1(Examination& exam) {
  using namespace checks_06_1;
  exam.check("one rank: all samples, in the epoch's order",
             [](Check& check) { check_epoch(check, {.sample_count = 6, .world_size = 1}); });
  exam.check("2 ranks share 8 samples", [](Check& check) { check_epoch(check, {.sample_count = 8, .world_size = 2}); });
  exam.check("3 ranks share 12 samples",
             [](Check& check) { check_epoch(check, {.sample_count = 12, .world_size = 3}); });
  exam.check("each epoch has its own order", [](Check& check) {
    for (const std::int64_t epoch : {1, 7}) check_epoch(check, {.sample_count = 12, .world_size = 2, .epoch = epoch});
  });
  exam.check("4 ranks, 10 samples: two are repeated", [](Check& check) {
    check_epoch(check, {.sample_count = 10, .world_size = 4, .seed = 3, .remainder = UnevenSamples::kPad});
  });
  exam.check("4 ranks, 11 samples: three are dropped", [](Check& check) {
    check_epoch(check, {.sample_count = 11, .world_size = 4, .remainder = UnevenSamples::kDrop});
  });
  exam.check("dropping takes nothing if all samples can be shared", [](Check& check) {
    check_epoch(check, {.sample_count = 12, .world_size = 3, .remainder = UnevenSamples::kDrop});
  });
  exam.check("5 ranks, 2 samples: the order is repeated more than once", [](Check& check) {
    check_epoch(check, {.sample_count = 2, .world_size = 5, .remainder = UnevenSamples::kPad});
  });
  exam.check("4 ranks, 3 samples: all are dropped", [](Check& check) {
    check_epoch(check, {.sample_count = 3, .world_size = 4, .remainder = UnevenSamples::kDrop});
  });
  exam.check("3 ranks, 10 003 samples", [](Check& check) {
    check_epoch(check, {.sample_count = 10'003, .world_size = 3, .epoch = 3, .remainder = UnevenSamples::kPad});
  });
  exam.full_check("every small number of ranks and samples", [](Check& check) {
    for (const UnevenSamples remainder : {UnevenSamples::kPad, UnevenSamples::kDrop})
      for (int ranks = 1; ranks <= 5; ++ranks)
        for (const std::int64_t samples : {1, 2, 5, 6, 9})
          check_epoch(check, {.sample_count = samples, .world_size = ranks, .epoch = samples, .remainder = remainder});
  });
}

}  // namespace lockstep::exercise
