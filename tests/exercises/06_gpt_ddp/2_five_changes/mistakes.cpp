#include <algorithm>

#include "06_gpt_ddp/2_five_changes/five_changes.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_broadcast", "every rank keeps its own initial parameters",
     "Broadcast the parameters of rank 0 before the loop."},
    {"no_average", "the gradients are not averaged, so each rank trains a model of its own",
     "All-reduce the gradient and divide it by the number of ranks, before the step."},
    {"sums",
     "the gradients are added up but not divided by the number of ranks, or the learning rate is multiplied by it",
     "The gradient of a mean is the mean of the gradients, and the whole batch is as large as before: divide the sum, "
     "and "
     "keep the learning rate."},
    {"plain_sampler", "all ranks draw the same samples, so their gradients are equal and averaging changes nothing",
     "A DistributedSampler hands each rank other samples."},
    {"no_set_epoch", "every epoch has the order of the first one", "Call sampler.set_epoch(epoch) in every epoch."},
    {"batch_of_each_rank", "each rank takes batch_size samples per step, so the batch grows with the number of ranks",
     "options.batch_size is that of all ranks together: each takes its share of it."},
    {"all_print", "every rank prints and saves", "Put print() and save() behind a look at the rank."},
    {"own_loss", "rank 0 prints the loss of its own share of the batch",
     "All-reduce the loss as well, on all ranks, and divide it."},
    {"loss_on_rank_0_only", "only rank 0 calls the all-reduce of the loss, and the others are in another one by then",
     "Every rank calls every collective: average the loss first, then look who prints it."},
    {"broadcast_not_awaited", "the broadcast of the parameters is issued but not waited for",
     "broadcast() returns at once: group.broadcast(parameters, 0).synchronize()."},
    {"gradient_not_awaited", "the all-reduce of the gradient is issued but not waited for",
     "all_reduce() returns at once: call synchronize() on what it returns, then divide."},
    {"whole_batch_everywhere", "every rank trains on the whole batch, so several ranks do the same work",
     "The result is right, and nothing is gained: a DistributedSampler gives each rank its share."},
    {"epoch_too_high", "set_epoch() is called with epoch + 1", "Epochs count from 0, as the RandomSampler's do."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_mistake;

std::vector<float> train(const Dataset& data, const TrainOptions& options, Collectives& group, Output& output) {
  const int rank = group.rank(), ranks = group.world_size();
  const auto average = [&](std::span<float> values) {
    exercise::Work work = group.all_reduce(values);
    if (values.size() == 1 || !is_mistake("gradient_not_awaited")) work.synchronize();
    const auto divisor = static_cast<float>(is_mistake("sums") && values.size() > 1 ? 1 : ranks);
    for (float& value : values) value /= divisor;
  };
  const bool is_speaker = rank == 0 || is_mistake("all_print");
  std::vector<float> parameters = options.initial_parameters;
  if (!is_mistake("no_broadcast")) {
    exercise::Work work = group.broadcast(parameters, 0);
    if (!is_mistake("broadcast_not_awaited")) work.synchronize();
  }
  DistributedSampler sampler(data.sample_count, rank, ranks, options.seed);
  RandomSampler plain_sampler(data.sample_count, options.seed);
  int step = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (!is_mistake("no_set_epoch")) sampler.set_epoch(epoch + (is_mistake("epoch_too_high") ? 1 : 0));
    const bool has_all = is_mistake("whole_batch_everywhere"), is_plain = has_all || is_mistake("plain_sampler");
    const std::vector<std::int64_t> samples = is_plain ? plain_sampler.indices() : sampler.indices();
    const std::int64_t batch_size = options.batch_size / (has_all || is_mistake("batch_of_each_rank") ? 1 : ranks);
    for (const std::vector<std::int64_t>& batch : batches_of(samples, batch_size)) {
      auto [loss, gradient] = loss_and_gradient(parameters, data, batch);
      if (!is_mistake("no_average")) average(gradient);
      if (!is_mistake("own_loss") && (rank == 0 || !is_mistake("loss_on_rank_0_only"))) average(std::span(&loss, 1));
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= options.learning_rate * gradient[i];
      ++step;
      if (is_speaker) output.print(step, loss);
    }
  }
  if (is_speaker) output.save(parameters);
  return parameters;
}

}  // namespace lockstep::ddp
