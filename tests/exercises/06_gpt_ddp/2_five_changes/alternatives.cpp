#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "06_gpt_ddp/2_five_changes/five_changes.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"cuts_batches", "each rank cuts its part out of the batches of a RandomSampler, which has no set_epoch()"},
    {"one_message",
     "loss and gradient are averaged by one all-reduce, and the parameters are those of rank 0 by a sum with zeros"},
    {"averages_parameters", "each rank takes its own step, and then the parameters are averaged"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

std::vector<float> train(const Dataset& data, const TrainOptions& options, Collectives& group, Output& output) {
  const int rank = group.rank(), ranks = group.world_size();
  const auto average = [&](std::span<float> values) {
    group.all_reduce(values).synchronize();
    for (float& value : values) value /= static_cast<float>(ranks);
  };
  std::vector<float> parameters = options.initial_parameters;
  if (is_alternative("one_message")) {
    if (rank != 0) std::ranges::fill(parameters, 0.0F);
    group.all_reduce(parameters).synchronize();
  } else {
    group.broadcast(parameters, 0).synchronize();
  }
  const std::int64_t own_size = options.batch_size / ranks;
  RandomSampler all_samples(data.sample_count, options.seed);
  DistributedSampler sampler(data.sample_count, rank, ranks, options.seed);
  for (int step = 0, epoch = 0; epoch < options.epochs; ++epoch) {
    sampler.set_epoch(epoch);
    std::vector<std::vector<std::int64_t>> batches = batches_of(sampler.indices(), own_size);
    if (is_alternative("cuts_batches")) {
      batches = batches_of(all_samples.indices(), options.batch_size);
      for (auto& batch : batches) batch = {batch.begin() + rank * own_size, batch.begin() + (rank + 1) * own_size};
    }
    for (const auto& batch : batches) {
      auto [loss, gradient] = loss_and_gradient(parameters, data, batch);
      gradient.push_back(loss);
      const bool averages_later = is_alternative("averages_parameters");
      if (!averages_later) average(gradient);
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= options.learning_rate * gradient[i];
      if (averages_later) average(parameters);
      if (averages_later) average(std::span(gradient).last(1));
      ++step;
      if (rank == 0) output.print(step, gradient.back());
    }
  }
  if (rank == 0) output.save(parameters);
  return parameters;
}

}  // namespace lockstep::ddp
