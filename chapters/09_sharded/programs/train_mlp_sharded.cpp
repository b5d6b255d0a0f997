// DERIVES FROM chapters/02_ring_all_reduce/programs/train_mlp_ring.cpp new<=22 changed<=8
// Trains a 784-256-10 perceptron on synthetic pictures of ten classes.
// Options, progress and files come from common/train/run. The program writes
// the loss of every step with all its digits, so that runs can be compared.
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "autograd/functions.hpp"
#include "base/philox.hpp"
#include "comm/rendezvous.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "data/tensor_dataset.hpp"
#include "device/device.hpp"
#include "launch/spawn.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "run/option_parser.hpp"
#include "run/run.hpp"
#include "run/training_loop.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kPixels = 784;  // 28 x 28, as the digits of MNIST
constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kTraining = 960, kValidation = 240;  // samples

struct Data {
  Tensor inputs;  // [N, 784] float32
  Tensor targets;  // [N] int32, the class
};

// Each class has a picture of its own, drawn at random once; a sample is its
// class's picture under noise twice as strong. That can be learned, and no
// pixel alone gives the class away.
Data make_data(std::int64_t count, std::uint64_t seed) {
  PhiloxSequence random(seed);
  const auto normal = [&] {
    const std::uint32_t word = random.next_word();
    return normal_floats(word, random.next_word())[0];
  };
  std::vector<float> pictures(kClasses * kPixels);
  for (float& pixel : pictures) pixel = 0.5F * normal();

  Data data{Tensor::zeros({count, kPixels}),
            Tensor::zeros({count}, DType::kInt32)};
  const std::span<float> inputs = data.inputs.span<float>();
  const std::span<std::int32_t> targets = data.targets.span<std::int32_t>();
  for (std::int64_t row = 0; row < count; ++row) {
    const auto label = static_cast<std::int32_t>(random.next_below(kClasses));
    targets[row] = label;
    for (std::int64_t i = 0; i < kPixels; ++i)
      inputs[row * kPixels + i] = pictures[label * kPixels + i] + normal();
  }
  return data;
}

// The loss of samples that the model has not learned from.
run::Evaluation evaluate(const nn::Mlp& model, const Tensor& inputs,
                         const Tensor& targets) {
  const autograd::NoGradGuard no_grad;
  const autograd::Variable logits = model.forward(autograd::Variable(inputs));
  return {.loss = autograd::cross_entropy(logits, targets).value().item()};
}

int train(const run::RunOptions& options) {
  comm::JobContext job;
  if (launch::is_rank()) job = comm::rendezvous("env://");
  const Device device = options.device_of(job.local_rank);
  const auto group = ring::make_ring_process_group(job);
  options.require_divisible_batch(group->world_size());
  // NEW: rank 0 saves the moments of its own part only
  if (options.resume) throw UsageError("only train_mlp_ring can --resume");  // NEW
  const Data data = make_data(kTraining + kValidation, options.seed);
  const data::TensorDataset training(data.inputs.rows(0, kTraining),
                                     data.targets.rows(0, kTraining));
  data::SequentialSampler sampler(kTraining);
  data::DataLoader loader(training, sampler,
                          {.batch_size = options.batch_size});
  nn::Mlp model(kPixels, kHidden, kClasses, {options.seed, device});
  // NEW: 1. All values lie in one tensor and all gradients in another. A rank owns a part of each.
  const std::int64_t part = (model.parameter_count() + job.world_size - 1) / job.world_size;  // NEW
  const Tensor values = Tensor::zeros({part * job.world_size}, DType::kFloat32, device);  // NEW
  const Tensor gradients = Tensor::zeros(values.shape(), DType::kFloat32, device);  // NEW
  std::int64_t place = 0;  // NEW
  for (const autograd::Variable& parameter : model.parameters()) {  // NEW
    const Shape shape = parameter.shape();  // NEW
    parameter.rebind_value(values.rows(place, place + shape.count()).reshape(shape));  // NEW
    parameter.rebind_gradient(gradients.rows(place, place + shape.count()).reshape(shape));  // NEW
    place += shape.count();  // NEW
  }  // NEW
  const Tensor own_values = values.rows(job.rank * part, (job.rank + 1) * part);  // NEW
  const Tensor own_gradients = gradients.rows(job.rank * part, (job.rank + 1) * part);  // NEW
  // NEW: 2. The optimizer sees one parameter, this rank's part, and has moments for no other.
  const auto shard = autograd::Variable::parameter(own_values, "shard");  // NEW
  optim::Adam optimizer({nn::ParameterGroup{.parameters = {{"shard", shard}}}});  // CHANGED
  // GONE: for (const autograd::Variable& parameter : model.parameters())
  group->broadcast(comm::buffer_of(values), 0).synchronize();  // CHANGED
  const run::RunSummary facts{.parameters = model.parameter_count(),
                              .training_samples = kTraining,
                              .validation_samples = kValidation,
                              .loss_unit = "nats per sample"};
  run::Run run(options, facts, *group);
  run::TrainingLoop loop(run, model, optimizer, loader);
  loop.evaluate_with([&] {
    const std::int64_t begin = kTraining, end = begin + kValidation;
    return evaluate(model, data.inputs.rows(begin, end).to(device),
                    data.targets.rows(begin, end).to(device));
  });

  for (const data::Batch& batch : loop) {
    const std::int64_t share = options.batch_size / group->world_size();
    const std::int64_t begin = job.rank * share, end = begin + share;
    const Tensor targets = batch.targets.rows(begin, end).to(device);
    const autograd::Variable inputs(batch.inputs.rows(begin, end).to(device));

    model.zero_grad();  // CHANGED
    const autograd::Variable logits = model.forward(inputs);  // [B, 10]
    autograd::Variable loss = autograd::cross_entropy(logits, targets);
    run.enter(run::Phase::kBackward);
    loss.backward();
    // GONE: for (const autograd::Variable& parameter : model.parameters()) {
    const auto own = comm::buffer_of(own_gradients), all = comm::buffer_of(gradients);  // CHANGED
    // NEW: 3. Half an all-reduce: of the mean gradient, each rank gets its part.
    group->reduce_scatter(own, all, comm::ReduceOp::kMean).synchronize();  // CHANGED
    // GONE: }
    shard.adopt_gradient(own_gradients);  // NEW
    run.enter(run::Phase::kUpdate);
    optimizer.step(loop.learning_rate());
    // NEW: 4. The other half, for the new values.
    group->all_gather(comm::buffer_of(values), comm::buffer_of(own_values)).synchronize();  // NEW
    double mean_loss = loss.value().item();
    const auto batch_loss = comm::host_buffer(std::span(&mean_loss, 1));
    group->all_reduce(batch_loss, comm::ReduceOp::kMean).synchronize();
    loop.end_step(mean_loss);
  }
  return run.finish();
}

}  // namespace

int main(int argc, char** argv) {
  run::RunOptions defaults;
  defaults.task = "mlp";
  defaults.steps = 20;
  defaults.batch_size = 48;
  defaults.learning_rate = {
      .highest = 1e-3, .warmup_steps = 0, .schedule = "constant"};
  return run::run_training(argc, argv,
                           "Trains a perceptron on synthetic pictures",
                           defaults, train);
}
