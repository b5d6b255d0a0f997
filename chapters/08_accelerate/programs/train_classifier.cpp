// Trains its own classifier, not a GPT, with every part of an accelerator: micro-batches, metrics over all ranks,
// checkpoints for any number of ranks, trackers. Runs alone, or under `lockstep launch`.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "autograd/functions.hpp"
#include "base/command_line.hpp"
#include "base/philox.hpp"
#include "base/terminal.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "data/tensor_dataset.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kFeatures = 20, kHidden = 64, kClasses = 5;

struct Options {
  std::int64_t epochs = 3;
  std::int64_t batch_size = 24;
  std::int64_t accumulation_steps = 1;
  std::string device;  // empty: the launcher's choice, else cpu
  std::filesystem::path out = "runs/classifier";
  bool shall_resume = false;
};

// A custom model: any nn::Module will do.
class Classifier : public nn::Module {
 public:
  explicit Classifier(const nn::InitScope& scope)
      : hidden_(child<nn::Linear>("hidden", kFeatures, kHidden, scope)),
        norm_(child<nn::LayerNorm>("norm", kHidden, scope)),
        head_(child<nn::Linear>("head", kHidden, kClasses, scope)) {}

  [[nodiscard]] autograd::Variable forward(const Tensor& features) const {  // [B, kFeatures] -> [B, kClasses]
    const autograd::Variable hidden = autograd::relu(hidden_.forward(autograd::Variable(features)));
    return head_.forward(norm_.forward(hidden));
  }

 private:
  nn::Linear& hidden_;
  nn::LayerNorm& norm_;
  nn::Linear& head_;
};

// Points around one centre per class.
data::TensorDataset make_dataset(std::int64_t count, std::uint64_t stream) {
  constexpr std::uint64_t kSeed = 8;
  PhiloxSequence centres(kSeed), random(kSeed, stream);
  const auto normal = [](PhiloxSequence& words) {
    const std::uint32_t word = words.next_word();
    return normal_floats(word, words.next_word())[0];
  };
  std::vector<float> centre(kClasses * kFeatures);
  for (float& value : centre) value = 0.7F * normal(centres);
  const Tensor features = Tensor::zeros({count, kFeatures}), targets = Tensor::zeros({count}, DType::kInt32);
  for (std::int64_t row = 0; row < count; ++row) {
    const auto label = static_cast<std::int64_t>(random.next_below(kClasses));
    targets.span<std::int32_t>()[row] = static_cast<std::int32_t>(label);
    for (std::int64_t i = 0; i < kFeatures; ++i)
      features.span<float>()[row * kFeatures + i] = centre[label * kFeatures + i] + normal(random);
  }
  return {features, targets};
}

// For each row [kClasses], the class with the largest value.
Tensor most_likely(const Tensor& logits) {
  const Tensor host = logits.to(Device{});
  const Tensor classes = Tensor::empty({host.shape()[0]}, DType::kInt32);
  for (std::int64_t row = 0; row < host.shape()[0]; ++row) {
    const auto values = host.rows(row, row + 1).span<float>();
    classes.span<std::int32_t>()[row] = static_cast<std::int32_t>(std::ranges::max_element(values) - values.begin());
  }
  return classes;
}

struct Accuracy {
  std::int64_t right = 0, all = 0;  // samples
  [[nodiscard]] double share() const { return static_cast<double>(right) / static_cast<double>(all); }
};

// Right answers over all samples, each counted once whatever the number of ranks.
Accuracy evaluate(accelerate::Accelerator& accelerator, const Classifier& model,
                  accelerate::AcceleratedLoader& batches) {
  const autograd::NoGradGuard no_grad;
  Accuracy accuracy;
  for (const data::Batch& batch : batches) {
    const Tensor predicted = most_likely(model.forward(batch.inputs).value());
    const Tensor predictions = accelerator.gather_for_metrics(predicted);  // [N of all ranks]
    const Tensor targets = accelerator.gather_for_metrics(batch.targets).to(Device{});
    for (std::int64_t i = 0; i < targets.count(); ++i)
      accuracy.right += predictions.span<std::int32_t>()[i] == targets.span<std::int32_t>()[i] ? 1 : 0;
    accuracy.all += targets.count();
  }
  return accuracy;
}

int train(const Options& options) {
  accelerate::Accelerator accelerator({.process = {.device = options.device},
                                       .gradient_accumulation_steps = options.accumulation_steps,
                                       .split_batches = true,
                                       .project_dir = options.out,
                                       .total_limit = 2,
                                       .log_with = {"jsonl", "tensorboard"}});
  const data::TensorDataset training = make_dataset(600, 1), validation = make_dataset(101, 2);
  data::RandomSampler sampler(training.size(), 1);
  data::SequentialSampler validation_sampler(validation.size());
  data::DataLoader loader(training, sampler, {.batch_size = options.batch_size / options.accumulation_steps});
  data::DataLoader validation_loader(validation, validation_sampler,
                                     {.batch_size = options.batch_size, .drop_last = false});
  Classifier model({1, accelerator.device()});
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.01));
  const optim::Schedule schedule = optim::LinearDecay({.learning_rate = 1e-2, .total_steps = 75, .minimum = 1e-3});

  auto [net, adam, batches, validation_batches, rate] =
      accelerator.prepare(model, optimizer, loader, validation_loader, schedule);
  accelerator.init_trackers("classifier", {{"batch_size", options.batch_size}});
  if (options.shall_resume) accelerator.print("continues ", accelerator.load_state().checkpoint.filename().string());

  for (std::int64_t epoch = sampler.epoch(); epoch < options.epochs; ++epoch) {
    sampler.set_epoch(epoch);
    double last_loss = 0;
    for (const data::Batch& batch : batches) {
      const auto scope = accelerator.accumulate(net);
      const auto precision = accelerator.autocast();
      adam.zero_grad();
      const autograd::Variable logits = net->forward(batch.inputs);  // [B, kClasses]
      const autograd::Variable loss = autograd::cross_entropy(logits, batch.targets);
      accelerator.backward(loss);
      if (accelerator.sync_gradients()) accelerator.clip_grad_norm(net->parameters(), 1.0);
      adam.step(rate.get_last_lr());
      rate.step();
      last_loss = loss.value().item();
    }
    const double loss = accelerator.reduce(last_loss, comm::ReduceOp::kMean);
    const Accuracy accuracy = evaluate(accelerator, model, validation_batches);
    accelerator.print("epoch ", epoch + 1, "  updates ", *rate.updates(), "  loss ", with_digits(loss, 4),
                      "  accuracy ", with_digits(accuracy.share(), 3), " of ", accuracy.all, " samples");
    accelerator.log({{"loss", loss}, {"accuracy", accuracy.share()}}, *rate.updates());
    accelerator.save_state();
  }
  accelerator.end_training();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Trains a small classifier with an accelerator");
  Options options;
  app.add_option("--epochs", options.epochs, "Passes over the data").check(whole_number(1, 1000));
  app.add_option("--batch-size", options.batch_size, "Samples per step over all ranks").check(whole_number(1, 600));
  app.add_option("--accumulation-steps", options.accumulation_steps, "Micro-batches per step")
      .check(whole_number(1, 64));
  app.add_option("--device", options.device, "cpu, emulated or cuda (if left out what the launcher has chosen, else cpu)");
  app.add_option("--out", options.out, "Where checkpoints are kept");
  app.add_flag("--resume", options.shall_resume, "Continue from the newest checkpoint");
  return run_main(app, argc, argv, [&] {
    if (options.batch_size % options.accumulation_steps != 0) {
      throw UsageError(concat("--batch-size ", options.batch_size, " cannot be divided evenly into ",
                              options.accumulation_steps, " --accumulation-steps"));
    }
    return train(options);
  });
}
