// DERIVES FROM chapters/09_sharded/programs/train_gpt_sharded.cpp new<=4 changed<=5
// Trains a GPT on a text with data parallelism, each rank updating its own part.
//
// Cut a text into samples and build a model; then, step by step: predict every
// next token, learn how each weight changes the error, and move the weights.
// Options, progress and files are in common/train/run.
#include <array>

#include "05_gpt_single_device/text_generator.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "09_sharded/setup.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "comm/rendezvous.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "device/device.hpp"
#include "mine/stage_one.hpp"  // NEW
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
double evaluate(nn::Gpt& model, auto&& loader, comm::ProcessGroup& group) {
  const autograd::NoGradGuard no_grad;
  std::array<double, 2> total{};  // sum of losses, number of targets
  for (const data::Batch& batch : loader) {
    const auto targets = autograd::target_count(batch.targets);
    const auto count = static_cast<double>(targets);
    total[0] += model.loss(batch.inputs, batch.targets).value().item() * count;
    total[1] += count;
  }
  group.all_reduce(comm::host_buffer(std::span(total))).synchronize();
  return total[0] / total[1];
}

// Forward and backward through the parts of a batch, whose gradients add up.
// Returns the mean loss of the batch.
double accumulate_gradients(run::Run& run, nn::Gpt& model, auto&& parts) {
  double mean_loss = 0;
  for (const run::MicroBatch& part : parts) {
    run.enter(run::Phase::kForward);
    auto loss = model.loss(part.inputs, part.targets, part.context);
    mean_loss += part.weight * run.require_finite(loss);

    run.enter(run::Phase::kBackward);
    loss.backward(part.weight);
  }
  return mean_loss;
}

int train(const sharded::Options& options) {
  const auto files = mine::read_fingerprints(mine::sharded_parts());  // NEW
  const auto job = comm::rendezvous("env://");
  const Device device = ddp::use_device(options, job.local_rank, job.local_world_size);
  const auto group = ddp::make_group(options.parallel, options.device, job, device);
  const int rank = group->rank(), world_size = group->world_size();
  mine::announce(mine::sharded_parts(), files, *group);  // NEW
  // The data: two parts of a text, each cut into samples of one context.
  const data::Corpus corpus = run::load_corpus(options, *group);
  const data::Dataset& training = *corpus.training;
  const data::Dataset& validation = *corpus.validation;
  const auto config = options.model.config(corpus.vocabulary_size);
  const auto sampler_options = ddp::sampler_options(options);
  ddp::DistributedSampler sampler(training.size(), rank, world_size, sampler_options);
  ddp::EvaluationSampler validation_sampler(validation.size(), rank, world_size);
  const std::int64_t batch_size = options.batch_size / world_size;
  data::DataLoader loader(
      training, sampler,
      {.batch_size = batch_size,
       .drop_last = !options.uneven,
       .num_workers = options.data.num_workers});
  data::DataLoader validation_loader(
      validation, validation_sampler,
      {.batch_size = batch_size / options.accumulation_steps,
       .drop_last = false});

  // The model, equal on all ranks. Each rank gets one part of its gradients.
  const autograd::Autocast autocast(options.model.bf16);
  nn::Gpt model(config, sharded::init_scope(options.seed, rank, device));
  const auto stage_one = mine::make_stage_one(files, model, *group, options);  // CHANGED
  mine::StageOne& sharded = *stage_one;  // NEW
  const auto chosen = run::make_optimizer(options.optimizer, sharded.shards());
  optim::Optimizer& optimizer = *chosen;
  const run::RunSummary facts =
      run::summarize_text_run(options, corpus, model);
  run::Run run(options, facts, *group);
  const optim::Schedule schedule = options.schedule(run.last_step());
  sharded::resume(run, sharded, optimizer, sampler);

  for (std::int64_t epoch = sampler.epoch(); !run.is_finished(); ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : sharded.join(loader)) {
      const auto parts = run.begin_step(batch, loader.time_waited());
      optimizer.zero_grad();
      double mean_loss = accumulate_gradients(run, model, sharded.accumulate(parts));

      run.enter(run::Phase::kUpdate);
      const double gradient_norm = sharded.update(  // CHANGED
          optimizer, schedule.at(run.step()), options.max_gradient_norm());  // CHANGED
      run.require_finite(gradient_norm);
      const double learning_rate = schedule.at(run.step());
      // GONE: optimizer.step(learning_rate);
      // GONE: sharded.gather_values();
      mean_loss = sharded.average(mean_loss);
      run.end_step({.loss = mean_loss,
                    .gradient_norm = gradient_norm,
                    .exposed_communication = sharded.exposed_communication(),
                    .learning_rate = learning_rate,
                    .epoch = epoch});

      if (run.validation_is_due())
        run.set_evaluation(evaluate(model, sharded.in_step(validation_loader), *group));
      run.print_step();
      if (ddp::replica_check_is_due(run))
        ddp::require_equal_parameters(model, *group, concat("after step ", run.step()));
      if (run.checkpoint_is_due())
        sharded::save(run, sharded, optimizer, sampler);
      if (run.is_finished()) break;
    }
  }

  sharded::show_sample(run, sharded, [&] {
    return gpt::generate_text(
        model, *corpus.tokenizer, options.text.prompt,
        {.token_count = options.text.sample_tokens, .seed = options.seed});
  });
  return run.finish();
}

}  // namespace

int main(int argc, char** argv) { return sharded::run_training(argc, argv, train); }
