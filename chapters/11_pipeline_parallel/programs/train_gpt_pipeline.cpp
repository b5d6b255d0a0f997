// DERIVES FROM chapters/05_gpt_single_device/programs/train_gpt_single.cpp new<=18 changed<=30
// Trains a GPT on a text, with the blocks divided among the ranks.  // CHANGED
//
// Cut a text into samples and build a model; then, step by step: predict every
// next token, learn how each weight changes the error, and move the weights.
// Options, progress and files are in common/train/run.
#include <array>

#include "05_gpt_single_device/text_generator.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"  // NEW
#include "10_tensor_parallel/gpt/setup.hpp"  // NEW
#include "10_tensor_parallel/gpt/tensor_step.hpp"  // NEW
#include "11_pipeline_parallel/gpt/setup.hpp"  // NEW
#include "11_pipeline_parallel/pipeline.hpp"  // NEW
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "comm/rendezvous.hpp"  // NEW
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
double evaluate(pipeline::Pipeline& stages, data::DataLoader& loader) {  // CHANGED
  const autograd::NoGradGuard no_grad;
  std::array<double, 2> total{};  // sum of losses, number of targets
  for (const data::Batch& batch : loader) {
    const auto targets = autograd::target_count(batch.targets);
    const auto count = static_cast<double>(targets);
    total[0] += stages.loss(batch) * count;  // CHANGED
    total[1] += count;
  }
  return stages.sum(total[0]) / total[1];  // CHANGED
}

// Forward and backward through the parts of a batch, whose gradients add up.
// Returns the mean loss of the batch.
double accumulate_gradients(run::Run& run, pipeline::Pipeline& stages, auto&& parts) {  // CHANGED
  const double mean_loss = stages.run(  // CHANGED
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

int train(const pipeline::Options& options) {  // CHANGED
  const auto job = comm::rendezvous("env://");  // NEW
  const Device device = ddp::use_device(options, job.local_rank, job.local_world_size);  // CHANGED
  const auto group = ddp::make_group(options.parallel, options.device, job, device);  // NEW
  // The data: two parts of a text, each cut into samples of one context.
  const data::Corpus corpus = run::load_corpus(options, *group);  // CHANGED
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
  // NEW: this rank's blocks; the whole model is on no rank
  const pipeline::BorrowingLayers layers;  // NEW
  nn::GptPart model(config, {options.seed, device},  // CHANGED
                    pipeline::blocks_of(config, *group, options.last_stage_blocks), layers);  // NEW
  pipeline::Pipeline stages(model, *group, options.schedule_kind());  // NEW
  const auto chosen = run::make_optimizer(options.optimizer, model);
  optim::Optimizer& optimizer = *chosen;
  const run::RunSummary facts =
      tensor_parallel::summarize_text_run(options, corpus, model, *group);  // CHANGED
  run::Run run(options, facts, *group, /*data_ranks=*/1);  // CHANGED
  const optim::Schedule schedule = options.schedule(run.last_step());
  run.resume(tensor_parallel::parts_of(model), optimizer, sampler);  // CHANGED

  for (std::int64_t epoch = sampler.epoch(); !run.is_finished(); ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : loader) {
      const auto parts = run.begin_step(batch, loader.time_waited(),  // CHANGED
                                        tensor_parallel::batch_of(*group));  // NEW
      tensor_parallel::require_same_batch(batch, *group);  // NEW
      optimizer.zero_grad();
      double mean_loss = accumulate_gradients(run, stages, parts);  // CHANGED

      run.enter(run::Phase::kUpdate);
      const double gradient_norm = tensor_parallel::clip_grad_norm(  // CHANGED
          model, *group, options.max_gradient_norm());  // CHANGED
      run.require_finite(gradient_norm);
      const double learning_rate = schedule.at(run.step());
      optimizer.step(learning_rate);
      run.end_step({.loss = mean_loss,
                    .gradient_norm = gradient_norm,
                    .exposed_communication = stages.idle_time(),  // NEW
                    .learning_rate = learning_rate,
                    .epoch = epoch});

      if (run.validation_is_due())
        run.set_evaluation(evaluate(stages, validation_loader));  // CHANGED
      run.print_step();
      if (run.checkpoint_is_due())
        run.save(tensor_parallel::parts_of(model), optimizer, sampler);  // CHANGED
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

using pipeline::run_training;  // NEW
int main(int argc, char** argv) { return run_training(argc, argv, train); }  // CHANGED
