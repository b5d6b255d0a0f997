#include <cmath>

#include "06_gpt_ddp/2_five_changes/five_changes.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace {

using ddp::Dataset;

// A training run; `options.initial_parameters` are rank 0's.
struct Case {
  int world_size = 1;
  Dataset data;
  ddp::TrainOptions options;
};

// Sample s has a 1 as its feature s and zeros else: only this sample moves parameter s, so one sees who was used.
Dataset one_hot(std::int64_t sample_count) {
  Dataset data{.sample_count = sample_count, .feature_count = sample_count, .features = {}, .targets = {}};
  for (std::int64_t sample = 0; sample < sample_count; ++sample) {
    for (std::int64_t i = 0; i < sample_count; ++i) data.features.push_back(i == sample ? 1.0F : 0.0F);
    data.targets.push_back(static_cast<float>(64 + sample));
  }
  return data;
}

Dataset random_data(std::uint64_t seed, std::int64_t sample_count, std::int64_t feature_count) {
  const auto samples = static_cast<std::size_t>(sample_count), features = static_cast<std::size_t>(feature_count);
  return {sample_count, feature_count, random_floats(seed, 100, samples * features), random_floats(seed, 101, samples)};
}

// What a single process with the whole batch computes, in double precision.
struct Expected {
  std::vector<double> parameters, losses;
};

Expected train_alone(const Case& run) {
  Expected expected;
  expected.parameters.assign(run.options.initial_parameters.begin(), run.options.initial_parameters.end());
  ddp::RandomSampler sampler(run.data.sample_count, run.options.seed);
  const std::size_t features = expected.parameters.size();
  for (int epoch = 0; epoch < run.options.epochs; ++epoch) {
    for (const auto& batch : ddp::batches_of(sampler.indices(), run.options.batch_size)) {
      std::vector<double> gradient(features);
      double loss = 0;
      for (const std::int64_t sample : batch) {
        const auto x = std::span(run.data.features).subspan(static_cast<std::size_t>(sample) * features, features);
        double error = -run.data.targets[static_cast<std::size_t>(sample)];
        for (std::size_t i = 0; i < features; ++i) error += expected.parameters[i] * x[i];
        loss += error * error / 2;
        for (std::size_t i = 0; i < features; ++i) gradient[i] += error * x[i];
      }
      const auto count = static_cast<double>(batch.size());
      for (std::size_t i = 0; i < features; ++i)
        expected.parameters[i] -= run.options.learning_rate * gradient[i] / count;
      expected.losses.push_back(loss / count);
    }
  }
  return expected;
}

const Outcome& run_case(Check& check, const Case& run, TrialOptions options = {}) {
  options.world_size = run.world_size;
  options.question = [&](int rank) {
    std::vector<float> initial = run.options.initial_parameters;
    if (rank > 0) initial = random_floats(check.seed(), static_cast<std::uint64_t>(rank), initial.size());
    return nlohmann::json{{"sample_count", run.data.sample_count},
                          {"feature_count", run.data.feature_count},
                          {"features", to_message(std::span(run.data.features))},
                          {"targets", to_message(std::span(run.data.targets))},
                          {"initial_parameters", to_message(std::span<const float>(initial))},
                          {"batch_size", run.options.batch_size},
                          {"epochs", run.options.epochs},
                          {"seed", run.options.seed},
                          {"learning_rate", run.options.learning_rate}};
  };
  return check.run(options);
}

// All ranks have the same bits.
void check_replicas(Check& check, const Outcome& outcome, const Case& run) {
  const std::vector<float> first = check.numbers<float>(outcome, 0, "parameters");
  for (int rank = 1; rank < run.world_size; ++rank) {
    const std::vector<float> other = check.numbers<float>(outcome, rank, "parameters");
    check.expect(other.size() == first.size(), concat("rank ", rank, " returned ", other.size(), " parameters"));
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i] != other[i])
        check.wrong(concat("the replicas differ: parameter ", i, " is ", shown(first[i]), " on rank 0 and ",
                           shown(other[i]), " on rank ", rank),
                    "equal starts and equal steps: are the parameters rank 0's, and the gradients the mean of all "
                    "ranks', before each step?");
  }
}

void check_starts(Check& check) {
  const Case run{3,
                 random_data(check.seed(), 12, 4),
                 {.initial_parameters = random_floats(check.seed(), 0, 4), .batch_size = 6, .epochs = 0}};
  const Outcome& outcome = run_case(check, run);
  const std::vector<double> expected(run.options.initial_parameters.begin(), run.options.initial_parameters.end());
  for (int rank = 0; rank < run.world_size; ++rank)
    check.compare(concat("no step has been taken: rank ", rank, "'s parameters"),
                  check.numbers<float>(outcome, rank, "parameters"), expected,
                  {.explain = [](std::size_t, double, double) { return "all ranks begin with rank 0's parameters"; }});
}

// One epoch from zeros: each parameter moves once, by learning_rate * target / batch_size.
void check_samples(Check& check, int world_size, std::int64_t samples, std::int64_t batch_size) {
  const Case run{world_size,
                 one_hot(samples),
                 {.initial_parameters = std::vector<float>(static_cast<std::size_t>(samples)),
                  .batch_size = batch_size,
                  .seed = check.seed(),
                  .learning_rate = 0.5F}};
  const Outcome& outcome = run_case(check, run);
  const Expected expected = train_alone(run);
  for (int rank = 0; rank < world_size; ++rank) {
    const auto explain = [&](std::size_t i, double got, double wanted) -> std::string {
      if (got == 0)
        return concat("sample ", i, ", the only one that moves this parameter, is in no step of this rank, and the ",
                      "gradients of the others do not arrive");
      if (got == wanted * world_size)
        return concat("it has moved ", world_size,
                      " times too far: a sum that was not divided, or a sample that every ", "rank has used");
      if (got == wanted / world_size)
        return concat("it has moved too little, as if a batch had ", batch_size * world_size, " samples and not ",
                      batch_size);
      return "";
    };
    check.compare(concat("rank ", rank, "'s parameters after one epoch"),
                  check.numbers<float>(outcome, rank, "parameters"), expected.parameters,
                  {.relative = 1e-6, .explain = explain});
  }
}

void check_result(Check& check, const Case& run, TrialOptions options = {}) {
  const Outcome& outcome = run_case(check, run, options);
  check_replicas(check, outcome, run);
  // A step rounds parameters of about 1 a few times, by 6e-8 each; at most 400 steps, which shrink earlier errors.
  for (int rank = 0; rank < run.world_size; ++rank)
    check.compare(concat("rank ", rank, "'s parameters"), check.numbers<float>(outcome, rank, "parameters"),
                  train_alone(run).parameters,
                  {.absolute = 2e-5, .explain = [&](std::size_t, double, double) -> std::string {
                     return run.options.epochs > 1 ? "equal on all ranks, but not what a single process gets. A single "
                                                     "epoch is right, so what has to change from epoch to epoch?"
                                                   : "";
                   }});
}

void check_output(Check& check, const Case& run) {
  const Outcome& outcome = run_case(check, run);
  const Expected expected = train_alone(run);
  for (int rank = 1; rank < run.world_size; ++rank) {
    const auto lines = check.numbers<std::int64_t>(outcome, rank, "steps").size();
    check.expect(lines == 0, concat("rank ", rank, " printed ", lines, " lines; only rank 0 prints"));
    const int saves = check.get<int>(outcome, rank, "saves");
    check.expect(saves == 0, concat("rank ", rank, " saved the parameters; ", run.world_size,
                                    " processes must not write the same file"));
  }
  std::vector<std::int64_t> steps(expected.losses.size());
  std::iota(steps.begin(), steps.end(), std::int64_t{1});
  check.compare("the steps that rank 0 printed", check.numbers<std::int64_t>(outcome, 0, "steps"), steps);
  check.compare("the losses that rank 0 printed", check.numbers<float>(outcome, 0, "losses"), expected.losses,
                {.absolute = 2e-5, .explain = [](std::size_t, double, double) {
                   return "the loss of a step is the mean over the batches of all ranks";
                 }});
  const int saves = check.get<int>(outcome, 0, "saves");
  check.expect(saves == 1, concat("rank 0 saved the parameters ", saves, " times; once, at the end, is right"));
  check.compare("the saved parameters", check.numbers<float>(outcome, 0, "saved"), expected.parameters,
                {.absolute = 2e-5});
}

Case random_case(Check& check, int world_size, std::int64_t samples, std::int64_t batch_size, int epochs) {
  return {world_size,
          random_data(check.seed(), samples, 5),
          {.initial_parameters = random_floats(check.seed(), 0, 5),
           .batch_size = batch_size,
           .epochs = epochs,
           .seed = check.seed() + 3}};
}

}  // namespace

void judge_06_2(Examination& exam) {
  exam.check("one rank trains as before", [](Check& check) {
    check_result(check, random_case(check, 1, 24, 8, 1));
    check_output(check, random_case(check, 1, 24, 8, 1));
  });
  exam.check("all ranks begin with rank 0's parameters", check_starts);
  exam.check("2 ranks: every sample is used once per epoch", [](Check& check) { check_samples(check, 2, 8, 4); });
  exam.check("3 ranks: every sample is used once per epoch", [](Check& check) { check_samples(check, 3, 12, 6); });
  exam.check("one epoch, as a single process with the whole batch",
             [](Check& check) { check_result(check, random_case(check, 2, 24, 8, 1)); });
  exam.check("three epochs, each with its own order",
             [](Check& check) { check_result(check, random_case(check, 2, 24, 4, 3)); });
  exam.check("rank 0 prints and saves, nobody else",
             [](Check& check) { check_output(check, random_case(check, 3, 24, 6, 2)); });
  exam.check("4 ranks, one sample each", [](Check& check) { check_result(check, random_case(check, 4, 32, 4, 2)); });
  exam.full_check("5 ranks, 400 steps, the second rank late",
                  [](Check& check) { check_result(check, random_case(check, 5, 200, 10, 20), {.delayed_rank = 1}); });
}

}  // namespace lockstep::exercise
