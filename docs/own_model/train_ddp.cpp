// Any number of processes, with the five changes of chapter 06.
#include <cstdio>
#include <exception>

#include "03_nccl/choose_backend.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "data/data_loader.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"

using namespace lockstep;

namespace {

void train() {
  const auto group = backend::init_process_group();  // 1. who else is there?
  const int rank = group->rank(), world_size = group->world_size();
  const data::TensorDataset springs = make_springs();
  ddp::DistributedSampler sampler(springs.size(), rank, world_size, {.seed = 1});  // 3. each rank its own samples
  data::DataLoader loader(springs, sampler, {.batch_size = 64 / world_size});
  SpringModel model({1, Device{}});
  ddp::DistributedDataParallel ddp(model, *group);  // 2. equal weights; backward() averages gradients
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));

  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    sampler.set_epoch(epoch);  // 4. another order in each epoch, the same on all ranks
    double sum = 0;
    for (const data::Batch& batch : loader) {
      optimizer.zero_grad();
      autograd::Variable loss = autograd::mse_loss(model(autograd::Variable(batch.inputs)), batch.targets);
      loss.backward();
      optimizer.step(3e-3);
      sum += ddp.average(loss.value().item());
    }
    if (rank == 0) std::printf("epoch %d  loss %.6f\n", static_cast<int>(epoch + 1), sum / 16);  // 5. once
  }
}

}  // namespace

int main() {
  try {
    train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_ddp: %s\n", error.what());
    return 1;
  }
}
