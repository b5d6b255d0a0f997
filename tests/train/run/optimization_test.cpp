#include "run/optimization.hpp"

#include <cmath>

#include "base/error.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/sgd.hpp"
#include "run/train_options.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using run::TrainOptions;

namespace {

// Parses a command line that must be right.
TrainOptions options_of(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "train_gpt_single");
  const auto parsed = run::parse_options(static_cast<int>(arguments.size()), arguments.data(), "", TrainOptions());
  REQUIRE_FALSE(parsed.exit_code.has_value());
  return parsed.options;
}

std::string usage_error(const std::vector<const char*>& arguments) {
  try {
    (void)options_of(arguments);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the optimizer is the one that was asked for", "[run]") {
  const nn::Linear layer(2, 3, 1);
  const auto adamw = run::make_optimizer(options_of({}).optimizer, layer);
  CHECK(dynamic_cast<optim::AdamW*>(adamw.get()) != nullptr);
  const auto adam = run::make_optimizer(options_of({"--optimizer", "adam"}).optimizer, layer);
  CHECK(dynamic_cast<optim::AdamW*>(adam.get()) == nullptr);
  CHECK(dynamic_cast<optim::Adam*>(adam.get()) != nullptr);
  const auto sgd = run::make_optimizer(options_of({"--optimizer", "sgd"}).optimizer, layer);
  REQUIRE(dynamic_cast<optim::Sgd*>(sgd.get()) != nullptr);
  CHECK(sgd->state().size() == 2);  // a momentum each for weight and bias
  CHECK(run::make_optimizer(options_of({"--optimizer", "sgd", "--momentum", "0"}).optimizer, layer)->state().empty());
}

TEST_CASE("the learning rate grows with the batch as asked", "[run]") {
  const std::vector<const char*> larger{"--learning-rate", "0.1", "--batch-size", "64", "--reference-batch-size", "16"};
  const auto rate = [&](std::vector<const char*> more) {
    more.insert(more.begin(), larger.begin(), larger.end());
    return options_of(more).schedule(1000).at(49);  // the end of the warm-up
  };
  CHECK(rate({}) == Approx(0.4));
  CHECK(rate({"--learning-rate-scaling", "sqrt"}) == Approx(0.2));
  CHECK(rate({"--learning-rate-scaling", "none"}) == Approx(0.1));
  CHECK(options_of({"--learning-rate", "0.1", "--batch-size", "64"}).learning_rate_scale() == 1);
  CHECK(options_of({"--batch-size", "8", "--reference-batch-size", "16"}).learning_rate_scale() == 0.5);
}

TEST_CASE("each schedule rises to the scaled rate and ends where it should", "[run]") {
  std::vector<const char*> arguments{"--learning-rate", "0.1", "--min-learning-rate",    "0.02", "--warmup-steps", "10",
                                     "--batch-size",    "32",  "--reference-batch-size", "16",   "--schedule",     ""};
  const auto schedule = [&](const char* name) {
    arguments.back() = name;
    return options_of(arguments).schedule(110);
  };
  for (const char* name : {"cosine", "linear", "constant"}) {
    CHECK(schedule(name).at(0) == Approx(0.02));
    CHECK(schedule(name).at(9) == Approx(0.2));
  }
  CHECK(schedule("cosine").at(60) == Approx(0.12));
  CHECK(schedule("linear").at(60) == Approx(0.12));
  CHECK(schedule("cosine").at(35) == Approx(0.04 + 0.16 * (1 + std::sqrt(0.5)) / 2));
  CHECK(schedule("linear").at(35) == Approx(0.16));
  CHECK(schedule("cosine").at(110) == Approx(0.04));
  CHECK(schedule("linear").at(110) == Approx(0.04));
  CHECK(schedule("constant").at(110) == Approx(0.2));
}

TEST_CASE("the banner says what was done to the learning rate", "[run]") {
  const auto describe = [](const std::vector<const char*>& words, std::int64_t steps = 1000) {
    return run::describe_optimization(options_of(words), steps);
  };
  CHECK(describe({}) == "AdamW, learning rate 0.002 falling to 0.0002, warm-up 50 steps, weight decay 0.1, clip 1");
  CHECK_THAT(describe({"--batch-size", "64", "--reference-batch-size", "16"}),
             ContainsSubstring("learning rate 0.002 x 4 (batch 64 / 16) = 0.008 falling to 0.0008,"));
  CHECK_THAT(describe({"--batch-size", "64", "--reference-batch-size", "16", "--learning-rate-scaling", "sqrt"}),
             ContainsSubstring("0.002 x 2 (the root of batch 64 / 16) = 0.004"));
  CHECK_THAT(describe({"--optimizer", "sgd", "--nesterov", "--schedule", "linear"}),
             ContainsSubstring("Nesterov's SGD with momentum 0.9, learning rate 0.002 falling to 0.0002 along a line"));
  CHECK_THAT(describe({"--optimizer", "sgd", "--momentum", "0", "--schedule", "constant"}),
             ContainsSubstring("SGD, learning rate 0.002, warm-up"));
  CHECK_THAT(describe({"--warmup-steps", "100"}, 2), ContainsSubstring("warm-up 2 steps"));  // all there are
  CHECK_THAT(describe({"--warmup-steps", "1"}, 2), ContainsSubstring("warm-up 1 step,"));
}

TEST_CASE("options of optimization that have no meaning together are refused", "[run]") {
  CHECK_THAT(usage_error({"--momentum", "0.5"}), ContainsSubstring("--momentum is for --optimizer sgd"));
  CHECK_THAT(usage_error({"--optimizer", "adam", "--nesterov"}), ContainsSubstring("--nesterov is for"));
  CHECK_THAT(usage_error({"--optimizer", "sgd", "--momentum", "0", "--nesterov"}), ContainsSubstring("which is 0"));
  CHECK_THAT(usage_error({"--learning-rate-scaling", "sqrt"}), ContainsSubstring("--reference-batch-size"));
}
