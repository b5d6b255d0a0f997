// Runs of models that are no GPT: a regression and a classification, each with options of its own.
#include "run/training_loop.hpp"

#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/philox.hpp"
#include "data/data_loader.hpp"
#include "data/tensor_dataset.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "run/metrics.hpp"
#include "run/option_parser.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kTraining = 60, kValidation = 15, kFeatures = 5;  // samples; numbers in each

struct Options : run::RunOptions {
  std::int64_t hidden = 8;
};

run::OptionList list_options(Options& options) {
  return run::join({run::list_options(static_cast<run::RunOptions&>(options)),
                    {{.field = &options.hidden,
                      .name = "--hidden",
                      .help = "Width of the hidden layer",
                      .check = whole_number(1, 1000),
                      .kind = run::OptionKind::kFixed}}});
}

Options defaults(const std::string& task) {
  Options options;
  options.task = task;
  options.steps = 14;
  options.batch_size = 12;
  options.learning_rate = {.highest = 0.02, .lowest = 0.002, .warmup_steps = 2};
  options.output.validate_every = 5;
  return options;
}

// Everything that a program knows of its own.
struct Task {
  Tensor features, targets;  // [N, kFeatures], [N, 1] float32 or [N] int32
  std::int64_t outputs;
  std::string loss_unit;

  [[nodiscard]] autograd::Variable loss(const autograd::Variable& predicted, const Tensor& wanted) const {
    return outputs == 1 ? autograd::mse_loss(predicted, wanted) : autograd::cross_entropy(predicted, wanted);
  }
};

Tensor random_features() {
  const Tensor features = Tensor::zeros({kTraining + kValidation, kFeatures});
  PhiloxSequence random(7);
  for (float& value : features.span<float>()) value = static_cast<float>(random.next_below(2001)) / 1000 - 1;
  return features;
}

float sum_of_row(const Tensor& features, std::int64_t row) {
  float sum = 0;
  for (const float value : features.rows(row, row + 1).span<float>()) sum += value;
  return sum;
}

Task regression() {
  Task task{random_features(), Tensor::zeros({kTraining + kValidation, 1}), 1, "mean squared error"};
  for (std::int64_t row = 0; row < kTraining + kValidation; ++row)
    task.targets.span<float>()[row] = sum_of_row(task.features, row) + 0.5F;
  return task;
}

Task classification() {
  Task task{random_features(), Tensor::zeros({kTraining + kValidation}, DType::kInt32), 2, "nats per sample"};
  for (std::int64_t row = 0; row < kTraining + kValidation; ++row)
    task.targets.span<std::int32_t>()[row] = sum_of_row(task.features, row) > 0 ? 1 : 0;
  return task;
}

run::Evaluation evaluate(const Task& task, const nn::Mlp& model) {
  const autograd::NoGradGuard no_grad;
  const Tensor targets = task.targets.rows(kTraining, kTraining + kValidation);
  const autograd::Variable predicted =
      model.forward(autograd::Variable(task.features.rows(kTraining, kTraining + kValidation)));
  run::Evaluation evaluation{.loss = task.loss(predicted, targets).value().item()};
  if (task.outputs == 1) return evaluation;
  std::int64_t right = 0;
  for (std::int64_t row = 0; row < kValidation; ++row) {
    const auto logits = predicted.value().span<float>().subspan(2 * row, 2);
    right += (logits[1] > logits[0] ? 1 : 0) == targets.span<std::int32_t>()[row] ? 1 : 0;
  }
  evaluation.scores["accuracy"] = static_cast<double>(right) / kValidation;
  return evaluation;
}

struct Trained {
  fs::path run;
  std::vector<run::StepMetrics> steps;
  std::vector<float> weights;
  std::string output;
};

Trained train(const Task& task, const Options& options) {
  std::ostringstream output;
  std::streambuf* const before = std::cout.rdbuf(output.rdbuf());
  const data::TensorDataset training(task.features.rows(0, kTraining), task.targets.rows(0, kTraining));
  data::RandomSampler sampler(kTraining, options.seed);
  data::DataLoader loader(training, sampler, {.batch_size = options.batch_size});
  nn::Mlp model(kFeatures, options.hidden, task.outputs, {options.seed, Device{}});
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));
  run::Run run(options, {.parameters = model.parameter_count(),
                         .training_samples = kTraining,
                         .validation_samples = kValidation,
                         .loss_unit = task.loss_unit});
  run::TrainingLoop loop(run, model, optimizer, loader);
  loop.evaluate_with([&] { return evaluate(task, model); });
  for (const data::Batch& batch : loop) {
    optimizer.zero_grad();
    autograd::Variable loss = task.loss(model.forward(autograd::Variable(batch.inputs)), batch.targets);
    run.enter(run::Phase::kBackward);
    loss.backward();
    run.enter(run::Phase::kUpdate);
    const double norm = optim::clip_grad_norm(model.parameters(), options.max_gradient_norm());
    optimizer.step(loop.learning_rate());
    loop.end_step(loss.value().item(), norm);
  }
  CHECK(run.finish() == 0);
  std::cout.rdbuf(before);
  Trained trained{run.folder(), run::read_metrics(run.folder() / "metrics.jsonl"), {}, output.str()};
  for (const autograd::Variable& parameter : model.parameters()) {
    const auto values = parameter.value().span<float>();
    trained.weights.insert(trained.weights.end(), values.begin(), values.end());
  }
  return trained;
}

/// The meaning of a command line; an error becomes its message.
struct Reading {
  Options options;
  std::string error;
};

Reading parse(const Options& usual, std::vector<std::string> arguments) {
  std::vector<const char*> argv{"train_mine"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream errors;
  std::streambuf* const before = std::cerr.rdbuf(errors.rdbuf());
  Reading answer;
  try {
    answer.options = run::parse_options(static_cast<int>(argv.size()), argv.data(), "Trains mine", usual).options;
  } catch (const Error& error) {
    errors << error.what();
  }
  std::cerr.rdbuf(before);
  answer.error = errors.str();
  return answer;
}

}  // namespace

TEST_CASE("a run that was stopped and resumed has the losses of one that was not, bit for bit, whatever it trains",
          "[run]") {
  const bool is_regression = GENERATE(true, false);
  const Task task = is_regression ? regression() : classification();
  const test::TemporaryFolder folder;
  Options options = defaults(is_regression ? "line" : "sign");
  options.output.folder = folder / "whole";
  const Trained whole = train(task, options);

  options.output.folder = folder / "parts";
  options.stop_after = 7;  // in the second epoch, between two evaluations
  const Trained first = train(task, options);
  CHECK(first.steps.size() == 7);
  CHECK_THAT(first.output, ContainsSubstring("stopped after step 7 of 14"));
  const Reading answer = parse(defaults(options.task), {"--resume", "--out", (folder / "parts").string()});
  REQUIRE(answer.error.empty());
  REQUIRE(answer.options.resume == first.run);
  const Trained second = train(task, answer.options);

  CHECK(second.run == first.run);
  CHECK(second.weights == whole.weights);
  REQUIRE(second.steps.size() == 14);
  for (std::size_t i = 0; i < 14; ++i) {
    const run::StepMetrics &a = second.steps[i], &b = whole.steps[i];
    CHECK(a.loss == b.loss);
    CHECK(a.gradient_norm == b.gradient_norm);
    CHECK(a.learning_rate == b.learning_rate);
    CHECK(a.validation_loss == b.validation_loss);
    CHECK(a.scores == b.scores);
    CHECK(a.epoch == static_cast<std::int64_t>(i) / 5);  // 60 samples are five batches
  }
  CHECK(whole.steps.back().loss < 0.9 * whole.steps.front().loss);  // it learns
}

TEST_CASE("a classifier's samples, evaluations and scores are in metrics, output and report", "[run]") {
  const test::TemporaryFolder folder;
  Options options = defaults("sign");
  options.output.folder = folder.path();
  const Trained trained = train(classification(), options);
  for (const run::StepMetrics& step : trained.steps) {
    const bool is_evaluated = step.step % 5 == 0 || step.step == 14;
    CHECK(step.unit == run::Unit::kSamples);
    CHECK(step.count == 12);
    CHECK(step.validation_loss.has_value() == is_evaluated);
    CHECK(step.scores.contains("accuracy") == is_evaluated);
  }
  CHECK(trained.steps.back().scores.at("accuracy") > 0.7);
  CHECK_THAT(read_file(trained.run / "metrics.jsonl"), ContainsSubstring("\"samples\":12,\"samples_per_s\":"));
  CHECK_THAT(trained.output, ContainsSubstring("  model   sign: 66 parameters\n") &&
                                 ContainsSubstring("60 training and 15 validation samples\n") &&
                                 ContainsSubstring("learning rate 0.02 falling to 0.002, warm-up 2 steps\n") &&
                                 ContainsSubstring(" samples/s") && ContainsSubstring(", accuracy 0."));
  const std::string report = read_file(trained.run / "report.html");
  for (const char* part : {"nats per sample", "samples per second", "Validation scores", "accuracy", "Gradient norm"})
    CHECK_THAT(report, ContainsSubstring(part));
  CHECK(report.find("token") == std::string::npos);
}

TEST_CASE("options of one's own are read, saved and kept by a resumed run", "[run]") {
  const test::TemporaryFolder folder;
  const Reading given = parse(defaults("line"), {"--hidden", "4", "--steps", "3", "--out", folder.path().string()});
  REQUIRE(given.error.empty());
  CHECK(given.options.hidden == 4);
  CHECK(given.options.batch_size == 12);
  const Trained trained = train(regression(), given.options);
  const nlohmann::json saved = parse_json(read_file(trained.run / "options.json"));
  CHECK(saved.at("hidden") == 4);
  CHECK(saved.at("task") == "line");
  CHECK_FALSE(saved.contains("optimizer"));  // this program has its own
  CHECK(parse(defaults("line"), {"--resume", trained.run.string()}).options.hidden == 4);
  CHECK_THAT(parse(defaults("line"), {"--resume", trained.run.string(), "--hidden", "5"}).error,
             ContainsSubstring("was trained with --hidden 4"));
  CHECK_THAT(parse(defaults("line"), {"--hiden", "5"}).error, ContainsSubstring("did you mean --hidden?"));
  CHECK_THAT(parse(defaults("line"), {"--hidden", "0"}).error, ContainsSubstring("'0' is not a whole number"));
  CHECK_THAT(parse(defaults("line"), {"--accumulation-steps", "2"}).error,
             ContainsSubstring("unknown option --accumulation-steps"));
}

TEST_CASE("a run of another task is not resumed", "[run]") {
  const test::TemporaryFolder folder;
  Options options = defaults("line");
  options.output.folder = folder.path();
  const fs::path run = train(regression(), options).run;
  CHECK(run::latest_run(folder.path(), "line") == run);
  CHECK_FALSE(run::latest_run(folder.path()).has_value());  // no GPT
  CHECK_THAT(parse(defaults("sign"), {"--resume", run.string()}).error,
             ContainsSubstring("has trained line, and this program trains sign"));
  CHECK_THAT(parse(defaults("sign"), {"--resume", "--out", folder.path().string()}).error,
             ContainsSubstring("no run of the task sign with a checkpoint"));
  CHECK_THAT(parse(defaults("sign"), {"--compare", run.string()}).error,
             ContainsSubstring("trained something other than this program does"));
  CHECK(parse(defaults("line"), {"--compare", folder.path().string()}).options.output.compare == std::vector{run});
}

TEST_CASE("a finished run that is resumed has nothing to do", "[run]") {
  const test::TemporaryFolder folder;
  Options options = defaults("line");
  options.output.folder = folder.path();
  const Trained trained = train(regression(), options);
  options.resume = trained.run;
  const Trained again = train(regression(), options);
  CHECK(again.steps.size() == 14);
  CHECK(again.weights == trained.weights);
}

TEST_CASE("a loop refuses batches of the wrong size, a loss that is not finite, and a body that ends no step",
          "[run]") {
  const test::TemporaryFolder folder;
  Options options = defaults("line");
  options.output.folder = folder.path();
  const Task task = regression();
  const data::TensorDataset training(task.features, task.targets);
  data::SequentialSampler sampler(training.size());
  data::DataLoader small(training, sampler, {.batch_size = 5}), right(training, sampler, {.batch_size = 12});
  nn::Mlp model(kFeatures, 2, 1, {1, Device{}});
  optim::Adam optimizer(model);
  run::Run run(options, {.parameters = model.parameter_count(), .training_samples = training.size()});
  CHECK_THROWS_WITH(run::TrainingLoop(run, model, optimizer, small), ContainsSubstring("have 5 samples"));
  run::TrainingLoop loop(run, model, optimizer, right);
  auto batch = loop.begin();
  CHECK_THROWS_WITH(++batch, ContainsSubstring("calls end_step() once per batch"));
  CHECK_THROWS_WITH(loop.end_step(std::numeric_limits<double>::infinity()),
                    ContainsSubstring("the loss is infinite in step 1"));
}
