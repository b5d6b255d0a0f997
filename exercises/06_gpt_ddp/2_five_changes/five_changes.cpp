#include "06_gpt_ddp/2_five_changes/five_changes.hpp"

namespace lockstep::ddp {

std::vector<float> train(const Dataset& data, const TrainOptions& options, Collectives& group, Output& output) {
  // TODO(06.2): this trains one process; make the five changes that let all ranks train together
  std::vector<float> parameters = options.initial_parameters;
  RandomSampler sampler(data.sample_count, options.seed);
  int step = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    for (const std::vector<std::int64_t>& batch : batches_of(sampler.indices(), options.batch_size)) {
      auto [loss, gradient] = loss_and_gradient(parameters, data, batch);
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= options.learning_rate * gradient[i];
      output.print(++step, loss);
    }
  }
  output.save(parameters);
  return parameters;
}

}  // namespace lockstep::ddp
