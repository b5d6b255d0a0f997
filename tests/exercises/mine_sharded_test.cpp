// `./lockstep run 09 --mine`: a step of stage 1 that exercise 09.2 asks for, in the trainer of chapter 09.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "mine_training.hpp"
#include "support/catch.hpp"
#include "support/training_job.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::require_success;

const Options kFourSteps{"--steps", "4"};

// A run with files in the place of ours. @param files  "09.2=1111": exercise and digest.
test::Finished train_with(const Job& job, const std::string& whose, int world_size, const Options& options,
                          const std::string& files, const std::string& variant = "") {
  return train_mine(job, "train_gpt_sharded_" + whose, world_size, options, files, variant);
}

// Four steps of chapter 09's own trainer.
void train_stage_one(const Job& job, int world_size, const Options& options) {
  Options all{"--zero", "1"};
  all.insert(all.end(), options.begin(), options.end());
  train_ours(job, "train_gpt_sharded", world_size, all);
}

// The same run for all that is compared with it.
const Job& our_four_steps(int world_size) {
  static std::map<int, Job> jobs;
  const auto [job, is_new] = jobs.try_emplace(world_size);
  if (is_new) train_stage_one(job->second, world_size, kFourSteps);
  return job->second;
}

}  // namespace

TEST_CASE("the trainer of chapter 09 takes the same steps with the solution of 09.2, bit for bit",
          "[exercises][mine][multirank]") {
  struct Case {
    int world_size;
    std::string files;
  };
  const Case test = GENERATE(Case{2, ""}, Case{2, "09.2=1111"}, Case{2, "06.5=2222 09.2=1111"}, Case{1, "09.2=1111"},
                             Case{4, "06.5=2222 09.2=1111"});
  INFO(test.world_size << " ranks with " << test.files);
  const Job found;
  const test::Finished finished = train_with(found, "solutions", test.world_size, kFourSteps, test.files);
  require_success(finished);
  CHECK_THAT(finished.out, ContainsSubstring(test.files.empty() ? "stage 1    ours" : "stage 1    yours (09.2 1111)"));
  check_same_run(found, our_four_steps(test.world_size));
}

TEST_CASE("so it does with every option that stage 1 has", "[exercises][mine][multirank]") {
  const Options options =
      GENERATE(Options{"--steps", "4", "--accumulation-steps", "3", "--activation-checkpointing"},
               Options{"--steps", "4", "--backend", "ring", "--uneven"},
               Options{"--steps", "4", "--optimizer", "sgd", "--momentum", "0.9", "--check-replicas", "1"},
               Options{"--steps", "4", "--clip", "0", "--bf16", "--validate-every", "2"});
  INFO(options[2]);
  const Job expected, found;
  train_stage_one(expected, 2, options);
  require_success(train_with(found, "solutions", 2, options, "09.2=1111"));
  check_same_run(found, expected);
}

TEST_CASE("so does an unusual right answer to 09.2", "[exercises][mine][multirank]") {
  const std::string name = GENERATE("updates_then_gathers", "mean_by_hand", "updates_copies");
  const Job found;
  require_success(train_with(found, "alternatives_09_2", 2, kFourSteps, "09.2=1111", name));
  check_same_run(found, our_four_steps(2));
}

TEST_CASE("a run with the solution of 09.2 goes on with the trainer of chapter 09, and the other way round",
          "[exercises][mine][multirank]") {
  const bool begins_with_ours = GENERATE(true, false);
  const std::string ours = test::built_program("train_gpt_sharded"),
                    theirs = mine_program("train_gpt_sharded_solutions");
  const test::LaunchSettings files{.variables = {{"LOCKSTEP_MINE", "09.2=1111"}}};
  const Job found;
  require_success(found.train(begins_with_ours ? ours : theirs, 2, {"--steps", "4", "--stop-after", "2"}, files));
  require_success(found.train(begins_with_ours ? theirs : ours, 2, {"--resume", found.run().string()}, files));
  check_same_run(found, our_four_steps(2));
}

namespace {

// AdamW hardly shows a gradient of another length.
Options four_steps_of_sgd(const std::string& clip) {
  return {"--steps", "4", "--optimizer", "sgd", "--learning-rate", "0.1", "--warmup-steps", "0", "--clip", clip};
}

}  // namespace

TEST_CASE("a wrong step trains to other numbers", "[exercises][mine][multirank]") {
  struct Wrong {
    std::string clip;
    std::vector<std::string> variants;
  };
  const Wrong wrong = GENERATE(Wrong{"0", {"sums"}}, Wrong{"1", {"local_norm", "gathers_old_values"}});
  const Options options = four_steps_of_sgd(wrong.clip);
  const Job expected;
  train_stage_one(expected, 2, options);
  for (const std::string& variant : wrong.variants) {
    INFO(variant);
    const Job found;
    require_success(train_with(found, "bank_09_2", 2, options, "09.2=1111", variant));
    CHECK(std::abs(found.losses().back() - expected.losses().back()) > 1e-3);
  }
}

TEST_CASE("a wrong step that breaks a rule ends with an error that names it", "[exercises][mine][multirank]") {
  struct Wrong {
    std::string variant, error;
  };
  const Wrong wrong = GENERATE(Wrong{"never_gathers", "the replicas have drifted apart"},
                               Wrong{"whole_optimizer", "09.2: update(0) takes rank "},
                               Wrong{"part_zero_everywhere", "09.2: update(0) takes rank 1's part of the bucket"},
                               Wrong{"gather_not_awaited", "09.2: finish() has returned"});
  INFO(wrong.variant);
  const Job job;
  const test::Finished finished = train_with(job, "bank_09_2", 2, four_steps_of_sgd("1"), "09.2=1111", wrong.variant);
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring(wrong.error));
}

TEST_CASE("the trainer for 09.2 refuses the other stages of ZeRO, and exercises that it does not use",
          "[exercises][mine]") {
  const auto refusal = [](const Options& options, const std::string& files) {
    const Job job;
    const test::Finished finished = train_with(job, "solutions", 2, options, files);
    CHECK(finished.exit_code != 0);
    return finished.out + finished.err;
  };
  CHECK_THAT(refusal({"--zero", "2"}, "09.2=1111"), ContainsSubstring("leave out --zero 2"));
  CHECK_THAT(refusal({"--zero", "3"}, ""), ContainsSubstring("leave out --zero 3"));
  CHECK_THAT(refusal({}, "06.4=1111"), ContainsSubstring("LOCKSTEP_MINE: \"06.4=1111\""));
}

}  // namespace lockstep::exercise
