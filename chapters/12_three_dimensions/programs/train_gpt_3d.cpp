// DERIVES FROM chapters/06_gpt_ddp/programs/train_gpt_ddp.cpp new<=12 changed<=38
// Trains a GPT on a text, with model and samples divided among the ranks.  // CHANGED
//
// Cut a text into samples and build a model; then, step by step: predict every
// next token, learn how each weight changes the error, and move the weights.
// Options, progress and files are in common/train/run.
#include <array>

#include "05_gpt_single_device/text_generator.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"
// GONE: #include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "09_sharded/setup.hpp"  // NEW
#include "10_tensor_parallel/gpt/setup.hpp"  // NEW
#include "12_three_dimensions/gpt/setup.hpp"  // NEW
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "comm/rendezvous.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "device/device.hpp"
#include "nn/gpt.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "run/load_corpus.hpp"
#include "run/optimization.hpp"
#include "run/run.hpp"
#include "run/text_summary.hpp"
#include "run/train_options.hpp"

using namespace lockstep;

namespace {

// Mean loss over all samples of the loader, without dropout and gradients.
double evaluate(grid::GridStep& step, data::DataLoader& loader, grid::Group& group) {  // CHANGED
  const autograd::NoGradGuard no_grad;
  std::array<double, 2> total{};  // sum of losses, number of targets
  for (const data::Batch& batch : loader) {
    const auto targets = autograd::target_count(batch.targets);
    const auto count = static_cast<double>(targets);
    const double loss = step.loss(batch);  // NEW
    if (!step.counts_samples()) continue;  // NEW
    total[0] += loss * count;  // CHANGED
    total[1] += count;
  }
  group.all_reduce(comm::host_buffer(std::span(total))).synchronize();
  return total[0] / total[1];
}

// Forward and backward through the parts of a batch, whose gradients add up.
// Returns the mean loss of the batch.
double accumulate_gradients(run::Run& run, grid::GridStep& step, auto&& parts) {  // CHANGED
  const double mean_loss = step.run(  // CHANGED
      parts, {.enter = [&](run::Phase phase) { run.enter(phase); }});  // NEW
  // GONE: for (const run::MicroBatch& part : parts) {
  // GONE: run.enter(run::Phase::kForward);
  // GONE: auto loss = model.loss(part.inputs, part.targets, part.context);
  // GONE: mean_loss += part.weight * run.require_finite(loss);

  // GONE: run.enter(run::Phase::kBackward);
  // GONE: loss.backward(part.weight);
  // GONE: }
  run.require_finite(mean_loss, "loss");  // NEW
  return mean_loss;
}

int train(const grid::Options& options) {  // CHANGED
  const auto job = comm::rendezvous("env://");
  const Device device = ddp::use_device(options, job.local_rank, job.local_world_size);
  const auto group = ddp::make_group(options.parallel, options.device, job, device);
  const grid::RankGrid places = grid::places_of(options, *group);  // CHANGED
  const grid::GridGroups groups = grid::split(*group, places);  // NEW
  const int share = places.place().data, shares = places.shape().data;  // NEW
  // The data: two parts of a text, each cut into samples of one context.
  const data::Corpus corpus = run::load_corpus(options, *group);
  const data::Dataset& training = *corpus.training;
  const data::Dataset& validation = *corpus.validation;
  const auto config = options.model.config(corpus.vocabulary_size);
  const auto sampler_options = ddp::sampler_options(options);
  ddp::DistributedSampler sampler(training.size(), share, shares, sampler_options);  // CHANGED
  ddp::EvaluationSampler validation_sampler(validation.size(), share, shares);  // CHANGED
  const std::int64_t batch_size = options.batch_size / shares;  // CHANGED
  data::DataLoader loader(
      training, sampler,
      {.batch_size = batch_size,
       .drop_last = !options.uneven,
       .num_workers = options.data.num_workers});
  data::DataLoader validation_loader(
      validation, validation_sampler,
      {.batch_size = batch_size / options.accumulation_steps,
       .drop_last = false});

  // This rank's part of some blocks; its gradients and updates are shared.  // CHANGED
  const autograd::Autocast autocast(options.model.bf16);
  const grid::GridLayers layers(*groups.tensor, options.step().rows);  // NEW
  nn::GptPart model(config, sharded::init_scope(options.seed, share, device),  // CHANGED
                    options.blocks_of(config, groups), layers);  // NEW
  grid::GridStep step(model, *group, groups, options.step());  // CHANGED
  const auto chosen = run::make_optimizer(options.optimizer, step.shards());  // CHANGED
  optim::Optimizer& optimizer = *chosen;
  const run::RunSummary facts =
      tensor_parallel::summarize_text_run(options, corpus, step.shards(), *group);  // CHANGED
  run::Run run(options, facts, *group, shares);  // CHANGED
  // GONE: ddp::connect(run, ddp);
  const optim::Schedule schedule = options.schedule(run.last_step());
  grid::resume(run, step, optimizer, sampler);  // CHANGED

  for (std::int64_t epoch = sampler.epoch(); !run.is_finished(); ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : loader) {  // CHANGED
      const auto parts = run.begin_step(batch, loader.time_waited(), step.batch_of());  // CHANGED
      grid::require_same_samples(batch, *group, places);  // NEW
      optimizer.zero_grad();
      double mean_loss = accumulate_gradients(run, step, parts);  // CHANGED

      run.enter(run::Phase::kUpdate);
      const double gradient_norm = step.clip_grad_norm(  // CHANGED
          options.max_gradient_norm());  // CHANGED
      run.require_finite(gradient_norm);
      const double learning_rate = schedule.at(run.step());
      optimizer.step(learning_rate);
      step.gather_values();  // CHANGED
      run.end_step({.loss = mean_loss,
                    .gradient_norm = gradient_norm,
                    .exposed_communication = step.idle_time(),  // CHANGED
                    .learning_rate = learning_rate,
                    .epoch = epoch});

      if (run.validation_is_due())
        run.set_evaluation(evaluate(step, validation_loader, *group));  // CHANGED
      run.print_step();
      if (ddp::replica_check_is_due(run))
        step.require_equal_replicas(concat("after step ", run.step()));  // CHANGED
      if (run.checkpoint_is_due())
        grid::save(run, step, optimizer, sampler);  // CHANGED
      if (run.is_finished()) break;
    }
  }

  run.show_sample([&] {
    return gpt::generate_text(
        *tensor_parallel::saved_model(run), *corpus.tokenizer, options.text.prompt,  // CHANGED
        {.token_count = options.text.sample_tokens, .seed = options.seed});
  });
  return run.finish();
}

}  // namespace

int main(int argc, char** argv) { return grid::run_training(argc, argv, train); }  // CHANGED
