// DERIVES FROM chapters/05_gpt_single_device/programs/train_gpt_single.cpp new<=5 changed<=14
// Trains a GPT on a text on any number of ranks, with an accelerator.  // CHANGED
//
// Cut a text into samples and build a model; then, step by step: predict every
// next token, learn how each weight changes the error, and move the weights.
// Options, progress and files are in common/train/run.
#include <array>

#include "05_gpt_single_device/text_generator.hpp"
#include "08_accelerate/setup.hpp"  // NEW
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
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
double evaluate(nn::Gpt& model, auto& loader, auto& accelerator) {  // CHANGED
  const autograd::NoGradGuard no_grad;
  std::array<double, 2> total{};  // sum of losses, number of targets
  for (const data::Batch& batch : loader) {
    const auto targets = autograd::target_count(batch.targets);
    const auto count = static_cast<double>(targets);
    total[0] += model.loss(batch.inputs, batch.targets).value().item() * count;
    total[1] += count;
  }
  accelerator.reduce_in_place(total);  // NEW
  return total[0] / total[1];
}

// Forward and backward through the parts of a batch, whose gradients add up.
// Returns the mean loss of the batch.
double accumulate_gradients(auto& run, auto& model, auto&& parts, auto& accelerator) {  // CHANGED
  double mean_loss = 0;
  for (const run::MicroBatch& part : parts) {
    run.enter(run::Phase::kForward);
    auto loss = model.loss(part.inputs, part.targets, part.context);
    mean_loss += part.weight * run.require_finite(loss);

    run.enter(run::Phase::kBackward);
    accelerator.backward(loss, part.weight);  // CHANGED
  }
  return mean_loss;
}

int train(const run::TrainOptions& options) {
  accelerate::Accelerator accelerator(accelerate::accelerator_options(options));  // NEW
  const Device device = accelerator.device();  // CHANGED
  // The data: two parts of a text, each cut into samples of one context.
  const data::Corpus corpus = run::load_corpus(options, accelerator.process_group());  // CHANGED
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
  const autograd::Autocast autocast = accelerator.autocast();  // CHANGED
  nn::Gpt model(config, {options.seed, device});
  const auto chosen = run::make_optimizer(options.optimizer, model);
  auto [net, optimizer, batches, validation_batches] =  // CHANGED
      accelerator.prepare(model, *chosen, loader, validation_loader);  // NEW
  const run::RunSummary facts =
      run::summarize_text_run(options, corpus, model);
  run::Run run(options, facts, accelerate::step_hooks(accelerator, net.ddp()));  // CHANGED
  const optim::Schedule schedule = options.schedule(run.last_step());
  run.resume(model, optimizer, sampler);

  for (std::int64_t epoch = sampler.epoch(); !run.is_finished(); ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : accelerator.join_uneven_inputs(net, batches)) {  // CHANGED
      const auto parts = run.begin_step(batch, batches.time_waited());  // CHANGED
      optimizer.zero_grad();
      double mean_loss = accumulate_gradients(  // CHANGED
          run, model, accelerator.accumulate(net, parts), accelerator);  // NEW

      run.enter(run::Phase::kUpdate);
      const double gradient_norm = accelerator.clip_grad_norm(  // CHANGED
          model.parameters(), options.max_gradient_norm());
      run.require_finite(gradient_norm);
      const double learning_rate = schedule.at(run.step());
      optimizer.step(learning_rate);
      run.end_step({.loss = mean_loss,
                    .gradient_norm = gradient_norm,
                    .learning_rate = learning_rate,
                    .epoch = epoch});

      if (run.validation_is_due())
        run.set_evaluation(evaluate(model, validation_batches, accelerator));  // CHANGED
      run.print_step();
      if (run.checkpoint_is_due())
        run.save(model, optimizer, sampler);
      if (run.is_finished()) break;
    }
  }

  run.show_sample([&] {
    return gpt::generate_text(
        model, *corpus.tokenizer, options.text.prompt,
        {.token_count = options.text.sample_tokens, .seed = options.seed});
  });
  return run.finish();
}

}  // namespace

int main(int argc, char** argv) { return run::run_training(argc, argv, train); }
