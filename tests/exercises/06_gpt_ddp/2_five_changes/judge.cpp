#include <cmath>

#include "../../require_awaited.hpp"
#include "06_gpt_ddp/2_five_changes/five_changes.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "trained_alone.hpp"

namespace lockstep::exercise {
namespace checks_06_2 {

using Case = TrainerCase;
using ddp::Dataset;

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

// Each process has drawn its own initial parameters.
std::vector<float> initial_of(Check& check, const Case& run, int rank) {
  const std::vector<float>& of_rank_0 = run.options.initial_parameters;
  return rank == 0 ? of_rank_0 : random_floats(check.seed(), static_cast<std::uint64_t>(rank), of_rank_0.size());
}

const Outcome& run_case(Check& check, const Case& run, TrialOptions options = {}) {
  options.world_size = run.world_size;
  options.question = [&](int rank) {
    const std::vector<float> initial = initial_of(check, run, rank);
    std::vector<float> targets = run.data.targets;
    for (float& target : targets) target *= run.tells_ranks_apart ? static_cast<float>(std::pow(8.0, rank)) : 1.0F;
    return nlohmann::json{{"sample_count", run.data.sample_count},
                          {"feature_count", run.data.feature_count},
                          {"features", to_message(std::span(run.data.features))},
                          {"targets", to_message(std::span<const float>(targets))},
                          {"initial_parameters", to_message(std::span<const float>(initial))},
                          {"batch_size", run.options.batch_size},
                          {"epochs", run.options.epochs},
                          {"seed", run.options.seed},
                          {"learning_rate", run.options.learning_rate}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, run.world_size);
  return outcome;
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
  const auto all = [&](double factor) {
    std::vector<double> sum;
    for (const double own : expected) sum.push_back(factor * own);
    for (int rank = 1; rank < run.world_size; ++rank)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * initial_of(check, run, rank)[i];
    return sum;
  };
  ArrayKnowledge knowledge;
  knowledge.formulas = {{"the initial parameters of all ranks are averaged", [&] { return all(1.0 / run.world_size); }},
                        {"the initial parameters of all ranks are added up", [&] { return all(1); }}};
  for (int owner = 1; owner < run.world_size; ++owner)
    knowledge.formulas.push_back(
        {concat("rank ", owner, " keeps its own parameters, or all ranks take those of rank ", owner), [&, owner] {
           const std::vector<float> own = initial_of(check, run, owner);
           return std::vector<double>(own.begin(), own.end());
         }});
  for (int rank = 0; rank < run.world_size; ++rank)
    check.compare(concat("no step has been taken: rank ", rank, "'s parameters"),
                  check.numbers<float>(outcome, rank, "parameters"), expected,
                  {.relative = 1e-6,
                   .explain = [](std::size_t, double, double) { return "all ranks begin with rank 0's parameters"; },
                   .knowledge = knowledge});
}

// In how many ways a parameter of check_samples() can have moved: `unit` is 8^r if rank r alone has used its sample.
std::string explain_use(std::int64_t sample, double unit, int world_size, std::int64_t batch_size) {
  const auto is = [&](double value) { return std::abs(unit - value) <= 1e-5 * value; };
  if (unit == 0)
    return concat("sample ", sample, ", the only one that moves this parameter, is in no step of any rank, or the ",
                  "gradients of the other ranks do not arrive");
  double all = 0;
  for (int rank = 0; rank < world_size; ++rank) all += std::pow(8.0, rank);
  if (is(all / world_size) || is(all) || is(all * world_size))
    return concat("every rank has used sample ", sample,
                  ": the data are not shared, and all ranks compute the same. A sample belongs to one rank");
  for (int rank = 0; rank < world_size; ++rank) {
    const double share = std::pow(8.0, rank);
    if (is(share * world_size))
      return concat("it has moved ", world_size,
                    " times too far: a sum that was not divided, or a learning rate that was multiplied");
    if (is(share / world_size))
      return concat("it has moved ", world_size, " times too little: as if the batch of all ranks had ",
                    batch_size * world_size, " samples and not ", batch_size,
                    ", or the sum were divided by the number of ranks twice");
  }
  const std::string sum = explain_sum(unit, world_size);
  return sum.empty() ? "has something else than a step changed it, such as a broadcast that was waited for late?" : sum;
}

// One epoch from zeros: each parameter moves once, by learning_rate * target / batch_size, and the targets say which
// rank has used the sample. Any rank may have, but each as many as the others.
void check_samples(Check& check, int world_size, std::int64_t samples, std::int64_t batch_size) {
  const Case run{world_size,
                 one_hot(samples),
                 {.initial_parameters = std::vector<float>(static_cast<std::size_t>(samples)),
                  .batch_size = batch_size,
                  .seed = check.seed(),
                  .learning_rate = 0.5F},
                 true};
  const Outcome& outcome = run_case(check, run);
  const TrainedAlone expected = train_alone(run);
  for (int rank = 0; rank < world_size; ++rank) {
    const auto got = check.numbers<float>(outcome, rank, "parameters");
    check.expect(got.size() == expected.parameters.size(), "the number of parameters changed");
    std::vector<std::int64_t> used(static_cast<std::size_t>(world_size));
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double unit = got[i] / expected.parameters[i];
      int user = 0;
      while (user < world_size && std::abs(unit - std::pow(8.0, user)) > 1e-5 * std::pow(8.0, user)) ++user;
      if (user == world_size)
        check.wrong(concat("rank ", rank, "'s parameters after one epoch, element ", i, ": a rank that uses sample ", i,
                           " moves it to ", shown(expected.parameters[i]), " times its 8^rank, got ", shown(got[i]),
                           ": ", explain_use(static_cast<std::int64_t>(i), unit, world_size, batch_size)));
      ++used[static_cast<std::size_t>(user)];
    }
    for (int user = 0; user < world_size; ++user)
      check.expect(used[static_cast<std::size_t>(user)] == samples / world_size,
                   concat("rank ", user, " has used ", used[static_cast<std::size_t>(user)], " of the ", samples,
                          " samples; each of ", world_size, " ranks should use ", samples / world_size));
  }
}

void check_result(Check& check, const Case& run, TrialOptions options = {}) {
  const Outcome& outcome = run_case(check, run, options);
  check_replicas(check, outcome, run);
  // A step rounds parameters of about 1 a few times, by 6e-8 each; at most 400 steps, which shrink earlier errors.
  std::vector<WrongFormula> formulas;
  for (const WrongTrainer& wrong : kWrongTrainers)
    formulas.push_back({wrong.what, [&] { return train_alone(run, wrong).parameters; }});
  for (int rank = 0; rank < run.world_size; ++rank)
    check.compare(concat("rank ", rank, "'s parameters"), check.numbers<float>(outcome, rank, "parameters"),
                  train_alone(run).parameters,
                  {.absolute = 2e-5,
                   .explain = [&](std::size_t, double, double) -> std::string {
                     return run.options.epochs > 1 ? "equal on all ranks, but not what a single process gets. A single "
                                                     "epoch is right, so what has to change from epoch to epoch?"
                                                   : "";
                   },
                   .knowledge = ArrayKnowledge{.formulas = formulas}});
}

void check_output(Check& check, const Case& run) {
  const Outcome& outcome = run_case(check, run);
  const TrainedAlone expected = train_alone(run);
  for (int rank = 1; rank < run.world_size; ++rank) {
    const auto lines = check.numbers<std::int64_t>(outcome, rank, "steps").size();
    check.expect(lines == 0, concat("rank ", rank, " printed ", lines, " lines; only rank 0 prints"));
    const int saves = check.get<int>(outcome, rank, "saves");
    check.expect(saves == 0, concat("rank ", rank, " saved the parameters; ", run.world_size,
                                    " processes must not write the same file"));
  }
  std::vector<std::int64_t> steps(expected.losses.size());
  std::iota(steps.begin(), steps.end(), std::int64_t{1});
  const auto printed = check.numbers<std::int64_t>(outcome, 0, "steps");
  check.expect(printed.empty() || printed.front() != 0, "rank 0 printed step 0 first; steps count from 1");
  check.compare("the steps that rank 0 printed", printed, steps);
  check.compare("the losses that rank 0 printed", check.numbers<float>(outcome, 0, "losses"), expected.losses,
                {.absolute = 2e-5,
                 .explain = [](std::size_t, double,
                               double) { return "the loss of a step is the mean over the batches of all ranks"; },
                 .knowledge = ArrayKnowledge{
                     .factors = {{static_cast<double>(run.world_size), "the sum is not divided by the number of ranks"},
                                 {1.0 / run.world_size, "it is divided by the number of ranks twice"}},
                     .formulas = {{"the loss is computed after the step", [&] { return expected.later_losses; }}}}});
  const int saves = check.get<int>(outcome, 0, "saves");
  check.expect(saves == 1, concat("rank 0 saved the parameters ", saves, " times; once, at the end, is right"));
  check.compare("the saved parameters", check.numbers<float>(outcome, 0, "saved"), expected.parameters,
                {.absolute = 2e-5,
                 .knowledge = ArrayKnowledge{.formulas = {{"the initial parameters are saved", [&] {
                                                             const auto& initial = run.options.initial_parameters;
                                                             return std::vector<double>(initial.begin(), initial.end());
                                                           }}}}});
}

Case random_case(Check& check, int world_size, std::int64_t samples, std::int64_t batch_size, int epochs) {
  return {world_size,
          random_data(check.seed(), samples, 5),
          {.initial_parameters = random_floats(check.seed(), 0, 5),
           .batch_size = batch_size,
           .epochs = epochs,
           .seed = check.seed() + 3}};
}

}  // namespace checks_06_2

void judge_06_2(Examination& exam) {
  using namespace checks_06_2;
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
