// `./lockstep run 10 --mine`: functions that exercises 10.1 to 10.3 ask for, in the trainer of chapter 10.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "mine_training.hpp"
#include "support/catch.hpp"
#include "support/training_job.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kTensorParallel = "train_gpt_tensor_parallel";

test::Finished train_divided(const Job& job, const std::string& whose, int world_size, const Options& options,
                             const std::string& files, const std::string& variant = "") {
  return train_mine(job, kTensorParallel + "_" + whose, world_size, options, files, variant);
}

double last_norm(const Job& job) { return job.gradient_norms().back(); }

}  // namespace

TEST_CASE("the trainer of chapter 10 takes the same steps with the solutions of 10.1 and 10.2, bit for bit",
          "[exercises][mine][multirank]") {
  struct Case {
    int world_size;
    std::string files;
    Options options = {};
  };
  const std::string both = "10.1=1111 10.2=2222";
  const Case test =
      GENERATE_COPY(Case{2, ""}, Case{2, "10.1=1111"}, Case{2, "10.2=2222"}, Case{4, both}, Case{1, both},
                    Case{2, both, {"--accumulation-steps", "3", "--activation-checkpointing", "--backend", "ring"}},
                    Case{2, both, {"--sequence-parallel", "--validate-every", "2"}}, Case{2, "10.1=1111", {"--bf16"}});
  INFO(test.world_size << " ranks with " << test.files << (test.options.empty() ? "" : test.options[0]));
  Options options{"--steps", "4"};
  options.insert(options.end(), test.options.begin(), test.options.end());
  const Job expected, found;
  train_ours(expected, kTensorParallel, test.world_size, options);
  const test::Finished finished = train_divided(found, "solutions", test.world_size, options, test.files);
  test::require_success(finished);
  const bool has_cut = test.files.starts_with("10.1");
  CHECK_THAT(finished.out, ContainsSubstring(has_cut ? "MLP's cut  yours (10.1 1111)" : "MLP's cut  ours"));
  check_same_run(found, expected);
}

// The course's loss adds up the exponentials of a row in another order.
TEST_CASE("with the solution of 10.3 it takes the same steps, up to rounding", "[exercises][mine][multirank]") {
  const Options options = GENERATE(Options{"--steps", "4"}, Options{"--steps", "4", "--sequence-parallel"},
                                   Options{"--steps", "4", "--accumulation-steps", "2"});
  const int world_size = GENERATE(1, 2, 4);
  INFO(world_size << " ranks");
  const Job expected, found;
  train_ours(expected, kTensorParallel, world_size, options);
  const test::Finished finished =
      train_divided(found, "solutions", world_size, options, "10.1=1111 10.2=2222 10.3=3333");
  test::require_success(finished);
  CHECK_THAT(finished.out, ContainsSubstring("loss       yours (10.3 3333)"));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(found.losses().at(i) == Approx(expected.losses().at(i)).epsilon(1e-6));
    CHECK(found.gradient_norms().at(i) == Approx(expected.gradient_norms().at(i)).epsilon(1e-4));
  }
}

TEST_CASE("an unusual right answer to 10.2 trains alike", "[exercises][mine][multirank]") {
  const std::string name = GENERATE("adds_what_is_missing", "sums_in_place_if_it_may", "into_zeros");
  const Job expected, found;
  train_ours(expected, kTensorParallel, 2, {"--steps", "4"});
  test::require_success(train_divided(found, "alternatives_10_2", 2, {"--steps", "4"}, "10.2=2222", name));
  for (std::size_t i = 0; i < 4; ++i) CHECK(found.losses().at(i) == Approx(expected.losses().at(i)).epsilon(1e-6));
}

TEST_CASE("wrong functions in the trainer of chapter 10 show in its losses or norms", "[exercises][mine][multirank]") {
  struct Wrong {
    std::string exercise;
    std::vector<std::string> variants;
    Options options = {};
  };
  const Wrong wrong = GENERATE(
      Wrong{"10.1", {"same_part_everywhere"}}, Wrong{"10.2", {"copy_passes_on", "sum_sums_again", "sum_averages"}},
      Wrong{"10.2", {"norms_left_alone", "norms_averaged"}, {"--sequence-parallel"}},
      Wrong{"10.3", {"own_softmax", "sum_of_every_rank", "gradient_without_target", "foreign_target_in_gradient"}});
  Options options{"--steps", "4", "--optimizer", "sgd", "--learning-rate", "0.1", "--warmup-steps", "0"};
  options.insert(options.end(), wrong.options.begin(), wrong.options.end());
  const Job expected;
  train_ours(expected, kTensorParallel, 2, options);
  const std::string bank = wrong.exercise == "10.1"   ? "bank_10_1"
                           : wrong.exercise == "10.2" ? "bank_10_2"
                                                      : "bank_10_3";
  for (const std::string& variant : wrong.variants) {
    INFO(variant);
    const Job found;
    test::require_success(train_divided(found, bank, 2, options, wrong.exercise + "=1111", variant));
    const double loss_apart = std::abs(found.losses().back() - expected.losses().back()),
                 norm_apart = std::abs(last_norm(found) / last_norm(expected) - 1);
    INFO("loss " << loss_apart << ", norm " << norm_apart);
    CHECK(std::max(loss_apart, norm_apart) > 1e-4);  // right: 0, or 1e-8 with 10.3
  }
}

TEST_CASE("wrong functions in the trainer of chapter 10 that break a rule end with an error that names it",
          "[exercises][mine][multirank]") {
  struct Wrong {
    std::string program, files, variant, error;
    Options options = {};
  };
  const Wrong wrong = GENERATE(
      Wrong{"bank_10_1", "10.1=1111", "first_by_rows", "10.1: share_of() has cut `wide` to ["},
      Wrong{"bank_10_1", "10.1=1111", "second_by_columns", "10.1: share_of() has cut `narrow` to ["},
      Wrong{"bank_10_1", "10.1=1111", "nothing_is_cut", "10.1: share_of() has cut `wide` to ["},
      Wrong{"bank_10_2", "10.2=1111", "forward_not_awaited", "10.2: a forward pass has returned, and 1 of its"},
      Wrong{"solutions", "10.2=1111", "", "leave out --bf16", {"--bf16"}},
      Wrong{"solutions", "10.3=1111", "", "leave out --bf16", {"--bf16"}},
      Wrong{"solutions", "11.3=1111", "", "LOCKSTEP_MINE: \"11.3=1111\""});
  INFO(wrong.program << " " << wrong.variant);
  Options options{"--steps", "4"};
  options.insert(options.end(), wrong.options.begin(), wrong.options.end());
  const Job job;
  const test::Finished finished = train_divided(job, wrong.program, 2, options, wrong.files, wrong.variant);
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.out + finished.err, ContainsSubstring(wrong.error));
}

TEST_CASE("ranks with different files of a learner stop before they train", "[exercises][mine][multirank]") {
  const Job job;
  const std::filesystem::path script = job.path("other_files.sh");
  std::ofstream(script) << "#!/bin/sh\nLOCKSTEP_MINE=10.1=$RANK exec " << mine_program(kTensorParallel + "_solutions")
                        << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const test::Finished finished = job.train(script.string(), 4, {"--steps", "4"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.out + finished.err, ContainsSubstring("rank 1 trains with other files than rank 0"));
}

}  // namespace lockstep::exercise
