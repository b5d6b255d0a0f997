// Any number of processes, with the accelerator of chapter 08.
#include <exception>
#include <iostream>

#include "08_accelerate/accelerator.hpp"
#include "base/terminal.hpp"
#include "data/sampler.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"

using namespace lockstep;

namespace {

void train() {
  accelerate::Accelerator accelerator({.split_batches = true});
  const data::TensorDataset springs = make_springs();
  data::RandomSampler sampler(springs.size(), 1);
  data::DataLoader loader(springs, sampler, {.batch_size = 64});
  SpringModel model({1, accelerator.device()});
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));
  auto [net, adam, batches] = accelerator.prepare(model, optimizer, loader);

  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    sampler.set_epoch(epoch);
    double sum = 0;
    for (const data::Batch& batch : batches) {
      adam.zero_grad();
      const autograd::Variable loss = autograd::mse_loss((*net)(autograd::Variable(batch.inputs)), batch.targets);
      accelerator.backward(loss);
      adam.step(3e-3);
      sum += accelerator.reduce(loss.value().item(), comm::ReduceOp::kMean);
    }
    accelerator.print("epoch ", epoch + 1, "  loss ", with_digits(sum / 16, 6));
  }
}

}  // namespace

int main() {
  try {
    train();
  } catch (const std::exception& error) {
    std::cerr << "train_accelerate: " << error.what() << '\n';
    return 1;
  }
}
