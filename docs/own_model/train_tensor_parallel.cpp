// Any number of processes that compute the same samples together, each with a part of the wide layers: those of chapter
// 10. Everything else is on every rank.
#include <cstdio>
#include <exception>

#include "03_nccl/choose_backend.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "10_tensor_parallel/parallel_layers.hpp"
#include "data/data_loader.hpp"
#include "model.hpp"
#include "optim/adamw.hpp"

using namespace lockstep;

namespace {

// As GatedBlock, with the wide middle cut: a rank has some columns of `gate` and `up`, and those rows of `down` that
// take them. The ranks' outputs of `down` are summed.
class CutBlock : public nn::Layer {
 public:
  CutBlock(std::int64_t channels, const nn::InitScope& scope, comm::ProcessGroup& group)
      : norm_(child<nn::LayerNorm>("norm", channels, scope)),
        gate_(child<tensor_parallel::ColumnParallel>("gate", channels, 2 * channels, 1, scope, group)),
        up_(child<tensor_parallel::ColumnParallel>("up", channels, 2 * channels, 1, scope, group)),
        down_(child<tensor_parallel::RowParallel>("down", 2 * channels, channels, 0.02, scope, group)) {}

  // [B, channels] -> [B, channels]
  autograd::Variable forward(const autograd::Variable& x) const override {
    const autograd::Variable normed = norm_(x);
    return autograd::add(x, down_(autograd::mul(autograd::silu(gate_(normed)), up_(normed))));
  }

 private:
  nn::LayerNorm& norm_;
  tensor_parallel::ColumnParallel &gate_, &up_;
  tensor_parallel::RowParallel& down_;
};

class CutSpringModel : public nn::Layer {
 public:
  CutSpringModel(const nn::InitScope& scope, comm::ProcessGroup& group)
      : in_(child<nn::Linear>("in", 3, kChannels, scope)),
        block_(child<CutBlock>("block", kChannels, scope, group)),
        out_(child<nn::Linear>("out", kChannels, 1, scope)) {}

  autograd::Variable forward(const autograd::Variable& x) const override { return out_(block_(in_(x))); }

 private:
  static constexpr std::int64_t kChannels = 32;
  nn::Linear& in_;
  CutBlock& block_;
  nn::Linear& out_;
};

void train() {
  const auto group = backend::init_process_group();
  const data::TensorDataset springs = make_springs();
  ddp::DistributedSampler sampler(springs.size(), 0, 1, {.seed = 1});  // the same samples on every rank
  data::DataLoader loader(springs, sampler, {.batch_size = 64});
  CutSpringModel model({1, Device{}}, *group);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));

  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    sampler.set_epoch(epoch);
    double sum = 0;
    for (const data::Batch& batch : loader) {
      tensor_parallel::require_same_batch(batch, *group);
      optimizer.zero_grad();
      autograd::Variable loss = autograd::mse_loss(model(autograd::Variable(batch.inputs)), batch.targets);
      loss.backward();
      optimizer.step(3e-3);
      sum += loss.value().item();
    }
    if (group->rank() == 0) std::printf("epoch %d  loss %.6f\n", static_cast<int>(epoch + 1), sum / 16);
  }
}

}  // namespace

int main() {
  try {
    train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_tensor_parallel: %s\n", error.what());
    return 1;
  }
}
