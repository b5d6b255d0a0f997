// train_ddp.cpp with checkpoints: `train_resume FOLDER EPOCHS` continues from the newest one in the folder, if there is
// one, on any number of ranks.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "checkpoint/checkpoint.hpp"
#include "comm/objects.hpp"
#include "data/data_loader.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"
#include "run/training_state.hpp"

using namespace lockstep;

namespace {

void train(const std::filesystem::path& folder, std::int64_t epochs) {
  const auto group = backend::init_process_group();
  const int rank = group->rank(), world_size = group->world_size();
  const data::TensorDataset springs = make_springs();
  ddp::DistributedSampler sampler(springs.size(), rank, world_size, {.seed = 1});
  data::DataLoader loader(springs, sampler, {.batch_size = 64 / world_size});
  SpringModel model({1, Device{}});
  ddp::DistributedDataParallel ddp(model, *group);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));

  run::LoadedTraining start;  // step 0
  const std::vector<run::KeptState> kept{ddp::bucket_order_state(ddp)};
  const bool resumes = comm::broadcast_object(*group, !checkpoint::CheckpointFolder(folder).list().empty(), 0);
  if (resumes) start = run::load_training(folder, model, optimizer, sampler, group.get(), kept);
  std::optional<run::TrainingSaver> saver;  // one rank saves
  if (rank == 0)
    saver.emplace(folder, run::CheckpointOptions{.save_every = 16, .keep_last = 2}, nlohmann::json::object(),
                  16 * epochs, start.checkpoint);

  std::int64_t step = start.step;
  for (std::int64_t epoch = sampler.epoch(); epoch < epochs; ++epoch) {
    sampler.set_epoch(epoch);
    double sum = 0;
    for (const data::Batch& batch : loader) {
      optimizer.zero_grad();
      autograd::Variable loss = autograd::mse_loss(model(autograd::Variable(batch.inputs)), batch.targets);
      loss.backward();
      optimizer.step(3e-3);
      ++step;
      sum += ddp.average(loss.value().item());
    }
    if (rank == 0) std::printf("epoch %d  loss %.6f\n", static_cast<int>(epoch + 1), sum / 16);
    if (saver) saver->save(step, model, optimizer, sampler, kept);  // written while the next epoch computes
  }
  if (saver) saver->finish();  // waits for the disk
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_resume FOLDER EPOCHS\n");
    return 2;
  }
  try {
    train(argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_resume: %s\n", error.what());
    return 1;
  }
}
