#include "06_gpt_ddp/2_five_changes/five_changes.hpp"

namespace lockstep::ddp {

std::vector<float> train(const Dataset& data, const TrainOptions& options, Collectives& group, Output& output) {
  // SOLUTION(06.2) train: this trains one process; make the five changes that let all ranks train together
  //| std::vector<float> parameters = options.initial_parameters;
  //| RandomSampler sampler(data.sample_count, options.seed);
  //| int step = 0;
  //| for (int epoch = 0; epoch < options.epochs; ++epoch) {
  //|   for (const std::vector<std::int64_t>& batch : batches_of(sampler.indices(), options.batch_size)) {
  //|     auto [loss, gradient] = loss_and_gradient(parameters, data, batch);
  //|     for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= options.learning_rate * gradient[i];
  //|     output.print(++step, loss);
  //|   }
  //| }
  //| output.save(parameters);
  //| return parameters;
  const int rank = group.rank(), ranks = group.world_size();
  const auto average = [&](std::span<float> values) {
    group.all_reduce(values).synchronize();
    for (float& value : values) value /= static_cast<float>(ranks);
  };
  std::vector<float> parameters = options.initial_parameters;
  group.broadcast(parameters, 0).synchronize();
  DistributedSampler sampler(data.sample_count, rank, ranks, options.seed);
  int step = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    sampler.set_epoch(epoch);
    for (const std::vector<std::int64_t>& batch : batches_of(sampler.indices(), options.batch_size / ranks)) {
      auto [loss, gradient] = loss_and_gradient(parameters, data, batch);
      average(gradient);
      average(std::span(&loss, 1));  // on all ranks, though only one prints it
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= options.learning_rate * gradient[i];
      ++step;
      if (rank == 0) output.print(step, loss);
    }
  }
  if (rank == 0) output.save(parameters);
  return parameters;
  // END SOLUTION
}

}  // namespace lockstep::ddp
