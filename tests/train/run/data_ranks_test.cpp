// Runs in which several ranks compute the same samples, each with a part of the model.
#include <functional>
#include <iostream>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/error.hpp"
#include "comm/objects.hpp"
#include "run/run.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

const run::RunSummary kFewFacts{
    .parameters = 10, .training_samples = 100, .validation_samples = 10, .tokens_per_sample = 4};

data::Batch samples_from_100(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 100);
  return {Tensor::zeros({count, 4}, DType::kInt32), Tensor::zeros({count, 4}, DType::kInt32),
          Tensor::from(std::span<const std::int64_t>(ids), {count})};
}

struct FirstStep {
  run::StepMetrics metrics;
  std::string printed;
};

// One step of rank 0's run, a batch of six samples, with `data_ranks`. The other ranks only send what a run does:
// `places` are their sample ids + 1 in the order of all ranks, `tokens` what they count, by rank.
FirstStep first_step(int data_ranks, run::BatchOf of, const std::vector<std::vector<std::int64_t>>& places,
                     const std::vector<double>& tokens) {
  const test::TemporaryFolder folder;
  FirstStep first;
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  const auto world_size = static_cast<int>(tokens.size());
  const auto outcomes = test::run_ranks(world_size, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const auto group = ring::make_shared_memory_process_group(std::move(context));
    if (rank == 0) {
      run::RunOptions options;
      options.task = "text";
      options.output.folder = folder.path() / "runs";
      options.output.log_batches = true;
      options.batch_size = 6;
      options.steps = 3;
      run::Run run(options, kFewFacts, *group, data_ranks);
      (void)run.begin_step(samples_from_100(3), {}, of);
      run.end_step({.loss = 1});
      first.metrics = run.log().current();
      return;
    }
    (void)comm::broadcast_text(*group, "", 0);
    std::vector<std::int64_t> own = places[rank];
    group->all_reduce(comm::host_buffer(std::span(own))).synchronize();
    std::vector<double> values(2 + 2 * tokens.size());
    values[1] = tokens[rank];
    group->all_reduce(comm::host_buffer(std::span(values))).synchronize();
  });
  std::cout.rdbuf(before);
  for (const test::RankOutcome& outcome : outcomes) REQUIRE(outcome.message() == "");
  first.printed = text.str();
  return first;
}

}  // namespace

TEST_CASE("of four ranks that share a batch in two, each share is counted once", "[run][multirank]") {
  // Ranks 0 and 1 have one share, ranks 2 and 3 the other; sample i of rank r has place 4 i + r.
  std::vector<std::vector<std::int64_t>> places(4, std::vector<std::int64_t>(12));
  for (const int i : {0, 1, 2}) places[2][static_cast<std::size_t>(4 * i + 2)] = 200 + i + 1;
  const FirstStep first = first_step(2, run::BatchOf::kThisRank, places, {0, 0, 12, 0});
  CHECK(first.metrics.count == 6 * 4);  // tokens
  CHECK(first.metrics.sample_ids == std::vector<std::int64_t>{100, 200, 101, 201, 102, 202});
  CHECK_THAT(first.printed, ContainsSubstring("6 samples a step (24 tokens), 3 on each replica"));
}

TEST_CASE("a rank whose samples another rank counts adds none", "[run][multirank]") {
  std::vector<std::vector<std::int64_t>> places(2, std::vector<std::int64_t>(12));
  for (const int i : {0, 1, 2}) places[1][static_cast<std::size_t>(2 * i + 1)] = 100 + i + 1;
  const FirstStep first = first_step(1, run::BatchOf::kCountedElsewhere, places, {0, 12});
  CHECK(first.metrics.count == 12);
  CHECK(first.metrics.sample_ids == std::vector<std::int64_t>{100, 101, 102});
}

TEST_CASE("ranks that cannot be divided into shares of a batch are refused", "[run]") {
  CHECK(run::Ranks(nullptr).data_ranks() == 1);
  CHECK(run::Ranks(nullptr, 1).data_ranks() == 1);
  CHECK_THROWS_WITH(run::Ranks(nullptr, 2), ContainsSubstring("1 rank cannot share a batch in 2 equal groups"));
  CHECK_THROWS_AS(run::Ranks(nullptr, 0), ContractError);
}
