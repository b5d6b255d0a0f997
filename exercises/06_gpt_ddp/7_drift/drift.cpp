#include "06_gpt_ddp/7_drift/drift.hpp"

namespace lockstep::ddp {

std::optional<Drift> find_drift(std::span<const std::span<const float>> tensors, Collectives& group) {
  // TODO(06.7): send one fingerprint per tensor, and compare those of all ranks
  lockstep::todo("06.7 find_drift");
}

namespace {

void average(std::span<float> values, Collectives& group) {
  group.all_reduce(values).synchronize();
  for (float& value : values) value /= static_cast<float>(group.world_size());
}

}  // namespace

float train_step(Replica& replica, const Share& share, const StepOptions& options, Collectives& group) {
  const std::size_t features = replica.weight.size();
  // TODO(06.7): it runs, but its replicas drift apart; find out where, and mend it
  // The running mean follows the inputs.
  const std::vector<float> mean = mean_of_inputs(share, features);
  for (std::size_t i = 0; i < features; ++i) {
    replica.running_mean[i] = 0.9F * replica.running_mean[i] + 0.1F * mean[i];
  }

  auto [loss, gradient] = loss_and_gradient(replica, share);
  average(gradient, group);

  // A step with an exceptional loss is left out.
  if (loss > options.loss_limit) return loss;

  PhiloxSequence random(options.seed + static_cast<std::uint64_t>(group.rank()),
                        static_cast<std::uint64_t>(options.step));
  for (std::size_t i = 0; i < features; ++i) {
    const float noise = options.noise * (uniform_float(random.next_word()) - 0.5F);
    replica.weight[i] -= options.learning_rate * (gradient[i] + noise);
  }
  return loss;
}

}  // namespace lockstep::ddp
