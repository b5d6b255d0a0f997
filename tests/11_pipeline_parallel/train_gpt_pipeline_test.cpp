// The pair train_gpt_single and train_gpt_pipeline as processes: the same losses, and checkpoints that each of them
// continues.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "run/rank_summary.hpp"
#include "support/catch.hpp"
#include "support/training_job.hpp"

using namespace lockstep;
using test::require_success;
using Job = test::TrainingJob;
using Options = std::vector<std::string>;

namespace {

// @param ranks  0: train_gpt_single.
test::Finished train(const Job& job, int ranks, const Options& options) {
  const std::string program = ranks == 0 ? "train_gpt_single" : "train_gpt_pipeline";
  return job.train(test::built_program(program), std::max(ranks, 1), options);
}

Options operator+(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
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

const Job& expected_with(const std::string& micro_batches) {
  static std::map<std::string, Job> jobs;
  const auto [job, is_new] = jobs.try_emplace(micro_batches);
  if (is_new) require_success(train(job->second, 0, {"--steps", "5", "--accumulation-steps", micro_batches}));
  return job->second;
}

}  // namespace

TEST_CASE("as a pipeline of 2, 3 and 4 ranks, a GPT trains as on one", "[pipeline_parallel][pair][multirank]") {
  struct Case {
    int ranks;
    std::string schedule, micro_batches;
  };
  const Case test = GENERATE(Case{2, "naive", "2"}, Case{2, "1f1b", "6"}, Case{3, "1f1b", "2"}, Case{3, "gpipe", "6"},
                             Case{4, "1f1b", "6"});
  INFO(test.ranks << " ranks, " << test.schedule << ", " << test.micro_batches << " micro-batches");
  const Job found;
  require_success(
      train(found, test.ranks,
            {"--steps", "5", "--pipeline-schedule", test.schedule, "--accumulation-steps", test.micro_batches}));
  check_follows(found, expected_with(test.micro_batches));
}

TEST_CASE("at one rank it writes the baseline's bits", "[pipeline_parallel][pair]") {
  const Options options =
      Options{"--steps", "4"} + GENERATE(Options{"--accumulation-steps", "2", "--activation-checkpointing"},
                                         Options{"--optimizer", "sgd", "--bf16"});
  const Job expected, found;
  require_success(train(expected, 0, options));
  require_success(train(found, 1, options + Options{"--pipeline-schedule", "gpipe"}));
  test::check_equal(found, expected);
}

TEST_CASE("a run goes on with any number of ranks", "[pipeline_parallel][pair][multirank]") {
  const Options four{"--steps", "4", "--accumulation-steps", "3"};
  static const Job expected;
  static const test::Finished whole = train(expected, 0, four);
  require_success(whole);
  const auto [first, second] = GENERATE(std::pair{2, 4}, std::pair{4, 0}, std::pair{0, 3});
  INFO(first << " ranks, then " << second << " (0: train_gpt_single)");
  const Job found;
  const test::Finished stopped = train(found, first, four + Options{"--stop-after", "2"});
  require_success(stopped);
  if (first > 0) CHECK_THAT(stopped.out, ContainsSubstring(concat("  grid    pipeline ", first, ", schedule 1f1b\n")));
  require_success(train(found, second, {"--resume", found.run().string()}));
  check_follows(found, expected);
}

TEST_CASE("the initial weights of all ranks are those of one", "[pipeline_parallel][pair][multirank]") {
  const Job job;
  require_success(train(job, 0, {"--steps", "1", "--export-initial", job.path("single").string()}));
  require_success(train(job, 4, {"--steps", "1", "--export-initial", job.path("four").string()}));
  const bool is_equal = read_file(job.path("single")) == read_file(job.path("four"));
  CHECK(is_equal);
}

TEST_CASE("every option of the trainer works in a pipeline", "[pipeline_parallel][multirank]") {
  const Job job;
  const test::Finished finished = train(job, 2,
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
                                         "--uneven",
                                         "--last-stage-blocks",
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

}  // namespace

TEST_CASE("a model that does not fit on one rank trains on four", "[pipeline_parallel][memory][multirank]") {
  const Options options{"--steps", "2", "--accumulation-steps", "6"};
  const Job one, four;
  require_success(train(one, 1, options));
  require_success(train(four, 4, options));
  const double on_one = largest_peak_mib(one, 1), on_four = largest_peak_mib(four, 4);
  INFO(on_one << " MiB on one rank, " << on_four << " MiB on each of four");
  CHECK(on_four < 0.6 * on_one);
  const Options limited =
      options + Options{"--memory-limit", std::to_string(static_cast<int>((on_one + on_four) / 2)) + "MiB"};
  const Job full, divided;
  const test::Finished refused = train(full, 1, limited);
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.err, ContainsSubstring("memory limit"));
  require_success(train(divided, 4, limited));
}

TEST_CASE("what a pipeline cannot do is refused in a sentence", "[pipeline_parallel]") {
  const Job job;
  const auto refusal = [&](int ranks, const Options& options) {
    const test::Finished finished = train(job, ranks, options);
    CHECK(finished.exit_code == 2);
    return finished.out + finished.err;
  };
  CHECK_THAT(refusal(5, {}),
             ContainsSubstring("5 ranks in a pipeline for 4 blocks: every stage needs one; use at most 4, or"));
  CHECK_THAT(refusal(3, {"--last-stage-blocks", "3"}),
             ContainsSubstring("--last-stage-blocks 3: of 4 blocks the other stages need 2; take at most 2"));
  CHECK_THAT(refusal(1, {"--last-stage-blocks", "3"}),
             ContainsSubstring("--last-stage-blocks 3: a single stage has all 4 blocks; take more stages"));
  CHECK_THAT(refusal(2, {"--pipeline-schedule", "zero-bubble"}), ContainsSubstring("1f1b"));
  CHECK_THAT(refusal(2, {"--no-sync"}), ContainsSubstring("--no-sync is for train_gpt_ddp"));
  CHECK_THAT(refusal(2, {"--compress-gradients", "bf16"}),
             ContainsSubstring("--compress-gradients is for train_gpt_ddp"));
  CHECK_THAT(refusal(2, {"--check-replicas", "5"}), ContainsSubstring("--check-replicas is for train_gpt_ddp"));
}

TEST_CASE("the ranks of mpirun count before they begin", "[pipeline_parallel]") {
  const test::Finished finished = test::check_options_under_mpirun({test::built_program("train_gpt_pipeline")}, 100);
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("100 ranks in a pipeline for "));
}

TEST_CASE("a pipeline with a loss that is not finite ends with one sentence", "[pipeline_parallel][multirank]") {
  const Job job;
  const test::Finished finished = train(
      job, 2, {"--steps", "8", "--learning-rate", "1e30", "--warmup-steps", "0", "--optimizer", "sgd", "--clip", "0"});
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring("try a --learning-rate below"));
}
