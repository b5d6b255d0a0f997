// Any number of processes, each of which keeps only a part of the model: the wrapper of chapter 09, in stage 3.
#include <cstdio>
#include <exception>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "data/data_loader.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"

using namespace lockstep;

namespace {

void train() {
  const auto group = backend::init_process_group();
  const int rank = group->rank(), world_size = group->world_size();
  const data::TensorDataset springs = make_springs();
  ddp::DistributedSampler sampler(springs.size(), rank, world_size, {.seed = 1});
  data::DataLoader loader(springs, sampler, {.batch_size = 64 / world_size});
  SpringModel model({1, Device{}});
  sharded::ShardedDataParallel sharded(model, *group, {.stage = 3});  // from here on, this rank has its part only
  optim::AdamW optimizer(nn::weight_decay_groups(sharded.shards(), 0.01));

  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    sampler.set_epoch(epoch);
    double sum = 0;
    for (const data::Batch& batch : loader) {
      optimizer.zero_grad();
      const std::vector<data::Batch> parts{batch};  // micro-batches: one
      for (const data::Batch& part : sharded.accumulate(parts)) {
        autograd::Variable loss = autograd::mse_loss(model(autograd::Variable(part.inputs)), part.targets);
        loss.backward();
        sum += sharded.average(loss.value().item());
      }
      optimizer.step(3e-3);
      sharded.gather_values();  // the old weights go
    }
    if (rank == 0) std::printf("epoch %d  loss %.6f\n", static_cast<int>(epoch + 1), sum / 16);
  }
}

}  // namespace

int main() {
  try {
    train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_sharded: %s\n", error.what());
    return 1;
  }
}
