// DERIVES FROM chapters/06_gpt_ddp/programs/train_gpt_ddp.cpp new<=15 changed<=6
// Trains a GPT on a text with data parallelism: one process per device.
// The parts that a learner's files can replace come from parts.hpp.  // NEW
//
// Cut a text into samples and build a model; then, step by step: predict every
// next token, learn how each weight changes the error, and move the weights.
// Options, progress and files are in common/train/run.
#include <array>
#include <iostream>  // NEW
#include <string>  // NEW

#include "05_gpt_single_device/text_generator.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "comm/rendezvous.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "device/device.hpp"
#include "mine/parts.hpp"  // NEW
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
double evaluate(nn::Gpt& model, data::DataLoader& loader, comm::ProcessGroup& group) {
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

int train(const run::TrainOptions& options) {
  const auto files = mine::learners_files();  // NEW
  // Who am I, and who else is there? Every rank runs this program.  // NEW
  const auto job = comm::rendezvous("env://");
  const Device device = ddp::use_device(options, job.local_rank, job.local_world_size);
  const auto group = mine::make_group(files, job);  // CHANGED
  const int rank = group->rank(), world_size = group->world_size();
  mine::announce(files, *group);  // NEW
  // The data: two parts of a text, each cut into samples of one context.
  const data::Corpus corpus = run::load_corpus(options, *group);
  const data::Dataset& training = *corpus.training;
  const data::Dataset& validation = *corpus.validation;
  const auto config = options.model.config(corpus.vocabulary_size);
  // GONE: const auto sampler_options = ddp::sampler_options(options);
  const auto dealt = mine::make_sampler(files, training.size(), *group, options);  // NEW
  data::Sampler& sampler = *dealt;  // CHANGED
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

  // The model, equal on all ranks: backward() averages its gradients.
  const autograd::Autocast autocast(options.model.bf16);
  nn::Gpt model(config, ddp::init_scope(options.seed, rank, device));
  ddp::DistributedDataParallel ddp(model, *group, mine::ddp_options(files, options));  // CHANGED
  const auto chosen = mine::make_optimizer(files, options.optimizer, model);  // CHANGED
  optim::Optimizer& optimizer = *chosen;
  const run::RunSummary facts =
      run::summarize_text_run(options, corpus, model);
  run::Run run(options, facts, *group);
  ddp::connect(run, ddp);
  const optim::Schedule schedule = options.schedule(run.last_step());
  run.resume(model, optimizer, sampler);

  for (std::int64_t epoch = sampler.epoch(); !run.is_finished(); ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : ddp.join(loader)) {
      const auto parts = run.begin_step(batch, loader.time_waited());
      optimizer.zero_grad();
      double mean_loss = accumulate_gradients(run, model, ddp.accumulate(parts));
      mine::average_gradients(files, model, *group);  // NEW

      run.enter(run::Phase::kUpdate);
      const double gradient_norm = optim::clip_grad_norm(
          model.parameters(), options.max_gradient_norm());
      run.require_finite(gradient_norm);
      const double learning_rate = schedule.at(run.step());
      optimizer.step(learning_rate);
      mean_loss = ddp.average(mean_loss);
      run.end_step({.loss = mean_loss,
                    .gradient_norm = gradient_norm,
                    .exposed_communication = ddp.exposed_communication(),
                    .learning_rate = learning_rate,
                    .epoch = epoch});

      if (run.validation_is_due())
        run.set_evaluation(evaluate(model, validation_loader, *group));
      run.print_step();
      if (ddp::replica_check_is_due(run))
        ddp::require_equal_parameters(model, *group, concat("after step ", run.step()));
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
  const std::string rings = mine::compare_rings(*group, model.parameter_count());  // NEW
  const int exit_code = run.finish();  // NEW
  if (rank == 0)  // NEW
    std::cout << "\n" + rings;  // NEW
  return exit_code;  // CHANGED
}

}  // namespace

int main(int argc, char** argv) { return run::run_training(argc, argv, train); }
