#include "exercise/subject.hpp"

#include <algorithm>

#include "../../never_awaited.hpp"
#include "08_accelerate/1_accumulate/accumulate.hpp"

namespace lockstep::exercise {
namespace {

// Micro-batch m has the gradient `value` in element m, and zeros elsewhere. Keeps the gradient of each update.
class RecordingReplica final : public accelerate::Replica {
 public:
  RecordingReplica(std::size_t micro_batches, double value) : value_(value), gradient_(micro_batches) {}

  void backward(std::int64_t micro_batch, double weight) override {
    gradient_.at(static_cast<std::size_t>(micro_batch)) += static_cast<float>(weight * value_);
  }
  [[nodiscard]] std::span<float> gradient() noexcept override { return gradient_; }
  void zero_grad() override { std::ranges::fill(gradient_, 0.0F); }
  void step() override {
    used.insert(used.end(), gradient_.begin(), gradient_.end());
    ++updates;
  }

  std::vector<float> used;  // [updates, micro_batches]
  std::int64_t updates = 0;

 private:
  double value_;
  std::vector<float> gradient_;
};

}  // namespace

// Runs the loop over some epochs. Reports after each micro-batch how many updates there have been.
Answer answer(Question& question) {
  const auto per_epoch = question.get<std::int64_t>("micro_batches"), epochs = question.get<std::int64_t>("epochs");
  const bool clears_first = question.get<bool>("clears_first");
  RecordingReplica replica(static_cast<std::size_t>(per_epoch * epochs), question.get<double>("value"));
  LinkCollectives& group = question.collectives();
  accelerate::GradientAccumulator accumulator(question.get<std::int64_t>("steps"), replica, group);
  std::vector<std::int64_t> syncs, updates, sent;
  for (std::int64_t m = 0; m < per_epoch * epochs; ++m) {
    accumulator.accumulate(m % per_epoch == per_epoch - 1);
    syncs.push_back(accumulator.sync_gradients() ? 1 : 0);
    if (clears_first) accumulator.zero_grad();
    accumulator.backward(m);
    accumulator.step();
    if (!clears_first) accumulator.zero_grad();
    updates.push_back(replica.updates);
    sent.push_back(static_cast<std::int64_t>(group.issued("all_reduce").size()));
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(group));
  result.set_numbers<std::int64_t>("syncs", syncs);
  result.set_numbers<std::int64_t>("updates", updates);
  result.set_numbers<std::int64_t>("sent", sent);
  result.set_numbers<float>("used", replica.used);
  return result;
}

}  // namespace lockstep::exercise
