// DERIVES FROM chapters/11_pipeline_parallel/programs/train_gpt_pipeline.cpp new<=9 changed<=0
// Trains a GPT on a text, with the blocks divided among the ranks.
//
// Cut a text into samples and build a model; then, step by step: predict every
// next token, learn how each weight changes the error, and move the weights.
// Options, progress and files are in common/train/run.
#include <array>

#include "05_gpt_single_device/text_generator.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"
#include "10_tensor_parallel/gpt/setup.hpp"
#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "11_pipeline_parallel/gpt/setup.hpp"
#include "11_pipeline_parallel/pipeline.hpp"
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "comm/rendezvous.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "device/device.hpp"
#include "mine/fingerprints.hpp"  // NEW
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

const std::array kParts = {  // NEW
    mine::Part{"stage loop", {"11.3"}}, mine::Part{"1F1B", {"11.1"}}};  // NEW

// Mean loss over all samples of the loader, without dropout and gradients.
double evaluate(pipeline::Pipeline& stages, data::DataLoader& loader) {
  const autograd::NoGradGuard no_grad;
  std::array<double, 2> total{};  // sum of losses, number of targets
  for (const data::Batch& batch : loader) {
    const auto targets = autograd::target_count(batch.targets);
    const auto count = static_cast<double>(targets);
    total[0] += stages.loss(batch) * count;
    total[1] += count;
  }
  return stages.sum(total[0]) / total[1];
}

// Forward and backward through the parts of a batch, whose gradients add up.
// Returns the mean loss of the batch.
double accumulate_gradients(run::Run& run, pipeline::Pipeline& stages, auto&& parts) {
  const double mean_loss = stages.run(
      parts, {.enter = [&](run::Phase phase) { run.enter(phase); }});

  run.require_finite(mean_loss, "loss");
  return mean_loss;
}

int train(const pipeline::Options& options) {
  const auto files = mine::read_fingerprints(kParts);  // NEW
  const auto job = comm::rendezvous("env://");
  const Device device = ddp::use_device(options, job.local_rank, job.local_world_size);
  const auto group = ddp::make_group(options.parallel, options.device, job, device);
  mine::announce(kParts, files, *group);  // NEW
  // NEW: before ranks wait for each other
  const auto micro_batches = static_cast<int>(options.accumulation_steps);  // NEW
  pipeline::require_executable(pipeline::make_schedule(  // NEW
      options.schedule_kind(), group->world_size(), micro_batches));  // NEW
  // The data: two parts of a text, each cut into samples of one context.
  const data::Corpus corpus = run::load_corpus(options, *group);
  const data::Dataset& training = *corpus.training;
  const data::Dataset& validation = *corpus.validation;
  const auto config = options.model.config(corpus.vocabulary_size);
  data::RandomSampler sampler(training.size(), options.seed);
  data::SequentialSampler validation_sampler(validation.size());
  const std::int64_t batch_size = options.batch_size;
  data::DataLoader loader(
      training, sampler,
      {.batch_size = batch_size,
       .drop_last = !options.uneven,
       .num_workers = options.data.num_workers});
  data::DataLoader validation_loader(
      validation, validation_sampler,
      {.batch_size = batch_size / options.accumulation_steps,
       .drop_last = false});

  // The model, and what moves its weights.
  const autograd::Autocast autocast(options.model.bf16);
  const pipeline::BorrowingLayers layers;
  nn::GptPart model(config, {options.seed, device},
                    pipeline::blocks_of(config, *group, options.last_stage_blocks), layers);
  pipeline::Pipeline stages(model, *group, options.schedule_kind());
  const auto chosen = run::make_optimizer(options.optimizer, model);
  optim::Optimizer& optimizer = *chosen;
  const run::RunSummary facts =
      tensor_parallel::summarize_text_run(options, corpus, model, *group);
  run::Run run(options, facts, *group, /*data_ranks=*/1);
  const optim::Schedule schedule = options.schedule(run.last_step());
  run.resume(tensor_parallel::parts_of(model), optimizer, sampler);

  for (std::int64_t epoch = sampler.epoch(); !run.is_finished(); ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : loader) {
      const auto parts = run.begin_step(batch, loader.time_waited(),
                                        tensor_parallel::batch_of(*group));
      tensor_parallel::require_same_batch(batch, *group);
      optimizer.zero_grad();
      double mean_loss = accumulate_gradients(run, stages, parts);

      run.enter(run::Phase::kUpdate);
      const double gradient_norm = tensor_parallel::clip_grad_norm(
          model, *group, options.max_gradient_norm());
      run.require_finite(gradient_norm);
      const double learning_rate = schedule.at(run.step());
      optimizer.step(learning_rate);
      run.end_step({.loss = mean_loss,
                    .gradient_norm = gradient_norm,
                    .exposed_communication = stages.idle_time(),
                    .learning_rate = learning_rate,
                    .epoch = epoch});

      if (run.validation_is_due())
        run.set_evaluation(evaluate(stages, validation_loader));
      run.print_step();
      if (run.checkpoint_is_due())
        run.save(tensor_parallel::parts_of(model), optimizer, sampler);
      if (run.is_finished()) break;
    }
  }

  run.show_sample([&] {
    return gpt::generate_text(
        *tensor_parallel::saved_model(run), *corpus.tokenizer, options.text.prompt,
        {.token_count = options.text.sample_tokens, .seed = options.seed});
  });
  return run.finish();
}

}  // namespace

using pipeline::run_training;
int main(int argc, char** argv) { return run_training(argc, argv, train); }
