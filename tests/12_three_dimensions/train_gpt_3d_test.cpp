// train_gpt_3d as processes: the losses of train_gpt_single, checkpoints that each grid and each trainer continues, and
// what the others say if a rank fails.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "12_three_dimensions/rank_grid.hpp"
#include "all_grids.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "nn/training_memory.hpp"
#include "run/rank_summary.hpp"
#include "support/catch.hpp"
#include "support/training_job.hpp"

using namespace lockstep;
using grid::GridShape;
using test::require_success;
using Job = test::TrainingJob;
using Options = std::vector<std::string>;

namespace {

Options operator+(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Options options_of(const GridShape& shape) {
  return {"--tensor", std::to_string(shape.tensor), "--pipeline", std::to_string(shape.pipeline)};
}

test::Finished train(const Job& job, const GridShape& shape, const Options& options,
                     const test::LaunchSettings& launch = {}) {
  return job.train(test::built_program("train_gpt_3d"), shape.ranks(), options_of(shape) + options, launch);
}

test::Finished train_single(const Job& job, const Options& options) {
  return job.train(test::built_program("train_gpt_single"), 1, options);
}

void check_follows(const Job& found, const Job& expected) {
  const auto own = found.metrics(), wanted = expected.metrics();
  REQUIRE(own.size() == wanted.size());
  REQUIRE_FALSE(wanted.empty());
  for (std::size_t i = 0; i < own.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(own[i].loss == Approx(wanted[i].loss).epsilon(1e-6));
    CHECK(own[i].gradient_norm.value() == Approx(wanted[i].gradient_norm.value()).epsilon(1e-5));
  }
  CHECK(own.back().validation_loss.value() == Approx(wanted.back().validation_loss.value()).epsilon(1e-6));
}

const Options kFourSteps{"--steps", "4", "--accumulation-steps", "2"};

const Job& expected_of_four_steps() {
  static const Job job;
  static const test::Finished finished = train_single(job, kFourSteps);
  require_success(finished);
  return job;
}

}  // namespace

TEST_CASE("on five grids, processes train as one", "[grid][pair][multirank]") {
  const GridShape shape =
      GENERATE(GridShape{2, 2, 2}, GridShape{1, 2, 4}, GridShape{4, 1, 2}, GridShape{2, 2, 1}, GridShape{1, 1, 1});
  INFO(test::text_of(shape));
  const Job found;
  require_success(train(found, shape, kFourSteps));
  check_follows(found, expected_of_four_steps());
}

TEST_CASE("each grid goes on with a run of another, and so does train_gpt_single", "[grid][pair][multirank]") {
  using Pair = std::pair<GridShape, GridShape>;
  const GridShape one{1, 1, 1};
  const auto [first, second] = GENERATE_COPY(
      Pair{one, {2, 1, 1}}, Pair{{2, 1, 1}, {1, 2, 1}}, Pair{{1, 2, 1}, {1, 1, 2}}, Pair{{1, 1, 2}, {2, 1, 1}},
      Pair{{2, 2, 1}, {1, 2, 2}}, Pair{{1, 2, 2}, {2, 1, 2}}, Pair{{2, 1, 2}, {4, 1, 1}}, Pair{{1, 1, 4}, {2, 2, 1}},
      Pair{{2, 2, 2}, one}, Pair{{1, 2, 1}, {1, 1, 4}});
  INFO(test::text_of(first) << ", then " << test::text_of(second));
  const Job found;
  require_success(train(found, first, kFourSteps + Options{"--stop-after", "2"}));
  require_success(train(found, second, {"--resume", found.run().string()}));
  check_follows(found, expected_of_four_steps());
}

TEST_CASE("the other trainers and a grid go on with each other's runs", "[grid][pair][multirank]") {
  const Job to_one, from_one;
  const test::Finished stopped = train(to_one, {2, 2, 1}, kFourSteps + Options{"--stop-after", "2"});
  require_success(stopped);
  CHECK_THAT(stopped.out, ContainsSubstring("go on with  --pipeline 2 --resume "));
  const std::string division = "pipeline 2 x data 2 x tensor 1, schedule 1f1b\n";
  CHECK_THAT(stopped.out, ContainsSubstring("  grid    " + division) &&
                              ContainsSubstring("  grid        " + division) && ContainsSubstring("on each replica"));
  require_success(train_single(to_one, {"--resume", to_one.run().string()}));
  check_follows(to_one, expected_of_four_steps());
  require_success(train_single(from_one, kFourSteps + Options{"--stop-after", "2"}));
  require_success(train(from_one, {2, 1, 2}, {"--resume", from_one.run().string()}));
  check_follows(from_one, expected_of_four_steps());
}

TEST_CASE("the initial weights of a grid are those of one rank", "[grid][pair][multirank]") {
  const Job job;
  require_success(train_single(job, {"--steps", "1", "--export-initial", job.path("single").string()}));
  require_success(train(job, {2, 2, 2}, {"--steps", "1", "--export-initial", job.path("grid").string()}));
  const bool is_equal = read_file(job.path("single")) == read_file(job.path("grid"));
  CHECK(is_equal);
}

TEST_CASE("every option of the trainer works on a grid", "[grid][multirank]") {
  const Job job;
  const test::Finished finished = train(job, {2, 2, 2},
                                        {"--steps",
                                         "2",
                                         "--sample-tokens",
                                         "20",
                                         "--prompt",
                                         "some words",
                                         "--accumulation-steps",
                                         "3",
                                         "--bf16",
                                         "--optimizer",
                                         "sgd",
                                         "--activation-checkpointing",
                                         "--last-stage-blocks",
                                         "1",
                                         "--sequence-parallel",
                                         "--pipeline-schedule",
                                         "gpipe",
                                         "--check-replicas",
                                         "1",
                                         "--log-batches",
                                         "--async-save",
                                         "--save-every",
                                         "1",
                                         "--validate-every",
                                         "1"});
  require_success(finished);
  CHECK_THAT(finished.out, ContainsSubstring("some words"));
  CHECK(job.metrics().back().sample_ids.size() == 12);
}

namespace {

double largest_peak_mib(const Job& job, int ranks) {
  double largest = 0;
  for (const run::RankSummary& rank : run::read_summaries(job.run(), ranks))
    largest = std::max(largest, rank.counted_peak_mib);
  return largest;
}

// Of training with 12 samples in `micro_batches` parts on each place of the data axis.
double estimate_mib(const GridShape& shape, bool has_divided_rows, int micro_batches) {
  nn::GptConfig config = nn::GptConfig::named("tiny");
  config.dropout = 0.1;
  return nn::training_memory({.config = config,
                              .batch_size = 12 / shape.data / micro_batches,
                              .ranks = shape.data,
                              .stage = 1,
                              .tensor = shape.tensor,
                              .is_sequence_parallel = has_divided_rows,
                              .pipeline = shape.pipeline,
                              .micro_batches = micro_batches})
             .total() /
         (1 << 20);
}

}  // namespace

TEST_CASE("a model that does not fit on one rank trains on four, with the memory that was estimated",
          "[grid][memory][multirank]") {
  const Options options{"--steps", "2", "--accumulation-steps", "3"};
  const Job one;
  require_success(train(one, {1, 1, 1}, options));
  const double on_one = largest_peak_mib(one, 1);
  const auto [shape, has_divided_rows] = GENERATE(
      std::pair{GridShape{1, 1, 4}, false}, std::pair{GridShape{4, 1, 1}, false}, std::pair{GridShape{2, 1, 2}, false},
      std::pair{GridShape{2, 1, 2}, true}, std::pair{GridShape{2, 2, 2}, true});
  INFO(test::text_of(shape) << (has_divided_rows ? ", rows divided" : ""));
  const Options own = options + (has_divided_rows ? Options{"--sequence-parallel"} : Options{});
  const Job measured;
  require_success(train(measured, shape, own));
  const double on_four = largest_peak_mib(measured, shape.ranks());
  CHECK(on_four == Approx(estimate_mib(shape, has_divided_rows, 3)).epsilon(0.05));
  const Options limit{"--memory-limit", std::to_string(static_cast<int>((on_one + on_four) / 2)) + "MiB"};
  const Job full, divided;
  const test::Finished refused = train(full, {1, 1, 1}, options + limit);
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.err, ContainsSubstring("memory limit"));
  require_success(train(divided, shape, own + limit));
}

TEST_CASE("what a grid cannot do is refused in a sentence", "[grid]") {
  const Job job;
  const auto refusal = [&](const GridShape& shape, int ranks, const Options& options) {
    const test::Finished finished = job.train(test::built_program("train_gpt_3d"), ranks, options_of(shape) + options);
    CHECK(finished.exit_code == 2);
    return finished.out + finished.err;
  };
  CHECK_THAT(refusal({2, 1, 2}, 6, {}), ContainsSubstring("6 ranks are no multiple of --tensor 2 x --pipeline 2"));
  CHECK_THAT(refusal({1, 1, 3}, 3, {}), ContainsSubstring("4 heads do not divide among 3 ranks; use 2 or 4"));
  CHECK_THAT(refusal({5, 1, 1}, 5, {}), ContainsSubstring("5 ranks in a pipeline for 4 blocks"));
  CHECK_THAT(refusal({1, 2, 1}, 2, {"--sequence-parallel"}), ContainsSubstring("add --tensor 2"));
  CHECK_THAT(refusal({1, 2, 2}, 4, {"--batch-size", "3"}),
             ContainsSubstring("cannot be divided evenly among 2 replicas: use a multiple of 2"));
  CHECK_THAT(refusal({1, 2, 1}, 2, {"--uneven"}), ContainsSubstring("--uneven"));
  CHECK_THAT(refusal({1, 2, 1}, 2, {"--no-sync"}), ContainsSubstring("--no-sync is for train_gpt_ddp"));
  CHECK_THAT(refusal({1, 2, 1}, 2, {"--compress-gradients", "bf16"}),
             ContainsSubstring("a reduce-scatter sends float32"));
  CHECK_THAT(refusal({1, 2, 1}, 2, {"--zero", "2"}), ContainsSubstring("--zero"));
}

TEST_CASE("a grid has the ranks that mpirun says", "[grid]") {
  const std::vector<std::string> command = {test::built_program("train_gpt_3d"), "--tensor", "2", "--pipeline", "2"};
  const test::Finished four = test::check_options_under_mpirun(command, 4);
  const test::Finished six = test::check_options_under_mpirun(command, 6);
  INFO(four.err);
  CHECK(four.exit_code == 0);
  CHECK(six.exit_code == 2);
  CHECK_THAT(six.err, ContainsSubstring("6 ranks are no multiple of --tensor 2 x --pipeline 2"));
}

TEST_CASE("a killed or stopped rank is named by the others, with its place and its group",
          "[grid][inject][multirank]") {
  const std::string kind = GENERATE("kill", "stop");
  const Job job;
  const test::Finished finished =
      train(job, {2, 2, 2}, {"--steps", "4"},
            {.options = {"--inject", "rank=5 step=2 " + kind}, .variables = {{"LOCKSTEP_LIVENESS_SECONDS", "3"}}});
  INFO(finished.err);
  CHECK(finished.exit_code != 0);
  for (int rank = 0; rank < 8; ++rank) {
    if (rank == 5) continue;
    CHECK_THAT(finished.err, ContainsSubstring(concat("with this rank ", rank, " (")));
  }
  CHECK_THAT(finished.err,
             ContainsSubstring("rank 5 (pipeline 1, data 0, tensor 1) is in tensor{4,5} with this rank 4") &&
                 ContainsSubstring("rank 5 (pipeline 1, data 0, tensor 1) is in pipeline{1,5} with this rank 1") &&
                 ContainsSubstring("rank 5 (pipeline 1, data 0, tensor 1) is in data{5,7} with this rank 7"));
}

TEST_CASE("a rank that reads other samples is named, with its place and its groups", "[grid][inject][multirank]") {
  const Job job;
  const test::Finished finished =
      train(job, {2, 2, 2}, {"--steps", "4"}, {.options = {"--inject", "rank=3 step=2 batch"}});
  INFO(finished.err);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring("rank 3 (pipeline 0, data 1, tensor 1; in pipeline{3,7} and tensor{2,3}) "
                                             "has other samples"));
  CHECK(job.metrics().size() == 1);
}
