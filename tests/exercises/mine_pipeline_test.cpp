// `./lockstep run 11 --mine`: the loop and the schedule that exercises 11.3 and 11.1 ask for, in the trainer of chapter
// 11.
#include <cmath>
#include <string>
#include <vector>

#include "mine_training.hpp"
#include "support/catch.hpp"
#include "support/training_job.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;

const Options kFourMicroBatches{"--steps", "4", "--accumulation-steps", "4"};

test::Finished train_stages(const Job& job, const std::string& whose, int world_size, const Options& options,
                            const std::string& files, const std::string& variant = "") {
  return train_mine(job, "train_gpt_pipeline_" + whose, world_size, options, files, variant);
}

}  // namespace

TEST_CASE("the trainer of chapter 11 takes the same steps with the solutions of 11.1 and 11.3, bit for bit",
          "[exercises][mine][multirank]") {
  struct Case {
    int world_size;
    Options options = {};
  };
  const Case test = GENERATE(Case{1}, Case{2}, Case{3}, Case{2, {"--pipeline-schedule", "gpipe"}},
                             Case{2, {"--pipeline-schedule", "naive", "--activation-checkpointing"}},
                             Case{3, {"--validate-every", "2", "--bf16"}});
  INFO(test.world_size << " ranks" << (test.options.empty() ? "" : test.options[1]));
  Options options = kFourMicroBatches;
  options.insert(options.end(), test.options.begin(), test.options.end());
  const Job expected, found;
  train_ours(expected, "train_gpt_pipeline", test.world_size, options);
  const test::Finished finished = train_stages(found, "solutions", test.world_size, options, "11.1=1111 11.3=3333");
  test::require_success(finished);
  CHECK_THAT(finished.out, ContainsSubstring("stage loop yours (11.3 3333)"));
  CHECK_THAT(finished.out, ContainsSubstring("1F1B       yours (11.1 1111)"));
  check_same_run(found, expected);
}

TEST_CASE("an unusual right answer to 11.3 trains alike", "[exercises][mine][multirank]") {
  const std::string name = GENERATE("two_lists", "keeps_the_node");
  const Job expected, found;
  train_ours(expected, "train_gpt_pipeline", 3, kFourMicroBatches);
  test::require_success(train_stages(found, "alternatives_11_3", 3, kFourMicroBatches, "11.3=3333", name));
  check_same_run(found, expected);
}

TEST_CASE("a wrong loop trains to other numbers", "[exercises][mine][multirank]") {
  const std::string variant = GENERATE("newest_first", "sends_output_gradient");
  const Options options{"--steps",        "4", "--accumulation-steps", "4",   "--optimizer", "sgd",
                        "--warmup-steps", "0", "--learning-rate",      "0.1", "--dropout",   "0"};
  const Job expected, found;
  train_ours(expected, "train_gpt_pipeline", 3, options);
  test::require_success(train_stages(found, "bank_11_3", 3, options, "11.3=3333", variant));
  CHECK(std::abs(found.gradient_norms().back() / expected.gradient_norms().back() - 1) > 1e-4);
}

TEST_CASE("a wrong loop or schedule that would have ranks wait for each other ends with an error",
          "[exercises][mine][multirank]") {
  struct Wrong {
    std::string program, files, variant, error;
  };
  const Wrong wrong =
      GENERATE(Wrong{"bank_11_3", "11.3=3333", "receives_everywhere", "about to receive the input of F0"},
               Wrong{"bank_11_3", "11.3=3333", "last_waits", "about to receive the gradient for B0"},
               Wrong{"bank_11_3", "11.3=3333", "sends_at_the_end", "but has to send the output of F0 first"},
               Wrong{"bank_11_3", "11.3=3333", "receives_all_first", "about to receive the input of F1"},
               Wrong{"bank_11_3", "11.3=3333", "no_gradient_sent", "has to send the gradient of B0 first"},
               Wrong{"bank_11_3", "11.3=3333", "ignores_the_list", "this stage is about to "},
               Wrong{"bank_11_3", "11.3=3333", "data_as_input", "gradient"},
               Wrong{"bank_11_1", "11.1=1111", "forgets_the_rest", "no rank does B3 of stage 0"},
               Wrong{"bank_11_1", "11.1=1111", "backward_first", "the schedule stops: "},
               Wrong{"solutions", "11.2=1111", "", "LOCKSTEP_MINE: \"11.2=1111\""});
  INFO(wrong.program << " " << wrong.variant);
  const Job job;
  const test::Finished finished = train_stages(job, wrong.program, 2, kFourMicroBatches, wrong.files, wrong.variant);
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.out + finished.err, ContainsSubstring(wrong.error));
}

}  // namespace lockstep::exercise
