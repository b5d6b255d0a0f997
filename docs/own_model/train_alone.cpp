// One process.
#include <cstdio>

#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"

using namespace lockstep;

int main() {
  const data::TensorDataset springs = make_springs();
  data::RandomSampler sampler(springs.size(), 1);
  data::DataLoader loader(springs, sampler, {.batch_size = 64});
  SpringModel model({1, Device{}});
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));

  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    sampler.set_epoch(epoch);
    double sum = 0;
    for (const data::Batch& batch : loader) {
      optimizer.zero_grad();
      autograd::Variable loss = autograd::mse_loss(model(autograd::Variable(batch.inputs)), batch.targets);
      loss.backward();
      optimizer.step(3e-3);
      sum += loss.value().item();
    }
    std::printf("epoch %d  loss %.6f\n", static_cast<int>(epoch + 1), sum / 16);
  }
}
