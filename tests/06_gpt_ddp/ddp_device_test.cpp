// DistributedDataParallel on devices: the host issues a step and goes on; what was wrong with it comes out later, and
// nothing has been updated meanwhile. Ranks are threads, each with an emulated device or a GPU of its own.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "03_nccl/nccl_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "autograd/functions.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/stream_gate.hpp"

using namespace lockstep;
using autograd::Variable;

namespace {

constexpr int kRanks = 2;
constexpr double kLearningRate = 0.1;

// Before anything asks for devices.
const bool kHasDevices = ::setenv("LOCKSTEP_EMULATOR_DEVICES", "8", 1) == 0;

Tensor tensor_of(const std::vector<float>& values, const Shape& shape, Device device) {
  return Tensor::from(std::span<const float>(values), shape).to(device);
}

// Two weights [2, 2] on a device. The loss is the mean of squares of the sum of what those in use make of the input, so
// that their gradients are equal.
class TwoWeights : public nn::Module {
 public:
  explicit TwoWeights(Device device) : device_(device) {
    for (const char* name : {"a", "b"}) {
      weights_.push_back(register_parameter(name, tensor_of({0.5F, 1, -1, 2}, {2, 2}, device)));
    }
  }
  [[nodiscard]] Variable loss(const std::vector<float>& input, const std::vector<std::size_t>& used = {0, 1}) const {
    const Variable x(tensor_of(input, {1, 2}, device_));
    Variable sum = autograd::linear(x, weights_[used.front()], {});
    for (std::size_t i = 1; i < used.size(); ++i) sum = autograd::add(sum, autograd::linear(x, weights_[used[i]], {}));
    return autograd::mse_loss(sum, tensor_of({0, 0}, {1, 2}, device_));
  }
  [[nodiscard]] std::vector<float> values() const {
    return all([](const Variable& p) { return p.value(); });
  }
  [[nodiscard]] std::vector<float> gradients() const {
    return all([](const Variable& p) { return p.gradient(); });
  }

 private:
  template <typename Of>
  [[nodiscard]] std::vector<float> all(const Of& of) const {
    std::vector<float> values;
    for (const Variable& weight : weights_) {
      const Tensor here = of(weight).to(Device{});
      values.insert(values.end(), here.span<float>().begin(), here.span<float>().end());
    }
    return values;
  }
  Device device_;
  std::vector<Variable> weights_;
};

// One rank with its device, model and optimizer.
struct Rank {
  Device device;
  std::unique_ptr<comm::ProcessGroup> group;
  TwoWeights model;
  ddp::DistributedDataParallel ddp;
  optim::AdamW optimizer;

  explicit Rank(comm::JobContext context, const ddp::DdpOptions& options = {})
      : device{accelerator_type(), context.rank},
        group(nccl::make_nccl_process_group(std::move(context), {.device = device})),
        model(device),
        ddp(model, *group, options),
        optimizer({nn::all_parameters(model)}) {}

  void backward(const std::vector<float>& input, const std::vector<std::size_t>& used = {0, 1}) {
    optimizer.zero_grad();
    model.loss(input, used).backward();
  }
  void step(const std::vector<float>& input) {
    backward(input);
    optimizer.step(kLearningRate);
  }
};

// The error of each rank's `body`; empty: none.
std::vector<std::string> messages_of(const std::function<void(Rank&)>& body, const ddp::DdpOptions& options = {}) {
  if (Device::count(test::accelerator().type) < kRanks) test::skip(concat("fewer than ", kRanks, " devices"));
  std::vector<std::string> messages;
  const auto rank_main = [&](comm::JobContext context) {
    Rank rank(std::move(context), options);
    body(rank);
  };
  for (const test::RankOutcome& outcome : test::run_ranks(kRanks, rank_main)) messages.push_back(outcome.message());
  return messages;
}

const std::vector<std::string> kNone(kRanks);
const float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("on devices gradients are averaged, and the ranks' parameters stay equal", "[ddp][gpu][multirank]") {
  std::vector<std::vector<float>> gradients(kRanks), values(kRanks);
  for (const bool is_compressed : {false, true}) {
    const auto messages = messages_of([&](Rank& rank) {
      if (is_compressed) rank.ddp.register_comm_hook(ddp::bf16_compress_hook());
      for (int step = 0; step < 3; ++step) rank.step({1, 2});
      rank.backward(rank.group->rank() == 0 ? std::vector<float>{1, 0} : std::vector<float>{0, 1});
      const auto index = static_cast<std::size_t>(rank.group->rank());
      gradients[index] = rank.model.gradients();
      values[index] = rank.model.values();
      rank.ddp.require_sound_gradients();
      if (rank.ddp.exposed_communication().count() < 0) throw Error("communication cannot take less than no time");
    });
    CHECK(messages == kNone);
    CHECK(values[0] == values[1]);
    CHECK(gradients[0] == gradients[1]);
    // With input (1, 0) the gradient of a weight's first column alone is not 0, with (0, 1) its second's: the average
    // has both, halved. y = 2 W x, and d(mean of y^2)/dW = y x^T.
    const std::vector<float>& w = values[0];
    for (std::size_t i = 0; i < w.size(); ++i) CHECK(std::abs(gradients[0][i] - w[i % 4]) <= 0.02F);
  }
}

TEST_CASE("backward on a device returns while the device still computes", "[ddp][gpu][multirank]") {
  const auto messages = messages_of([](Rank& rank) {
    rank.step({1, 2});  // the first step lays buckets out anew, which the host waits for
    rank.ddp.require_sound_gradients();
    rank.optimizer.zero_grad();
    const Variable loss = rank.model.loss({1, 2});
    const Stream& stream = current_stream(rank.device);
    test::StreamGate gate(stream);
    Event passed(rank.device);
    passed.record(stream);
    loss.backward();
    rank.optimizer.step(kLearningRate);
    const bool is_ahead = !passed.is_complete();
    gate.open();
    rank.ddp.require_sound_gradients();
    if (!is_ahead) throw Error("the host has waited for the device");
  });
  CHECK(messages == kNone);
}

TEST_CASE("a gradient that is not finite updates nothing, and the next backward names rank, tensor and step",
          "[ddp][gpu][multirank]") {
  std::vector<int> is_kept(kRanks);
  const auto messages = messages_of([&](Rank& rank) {
    rank.step({1, 2});
    const std::vector<float> before = rank.model.values();
    rank.step(rank.group->rank() == 1 ? std::vector<float>{kNaN, 1} : std::vector<float>{1, 1});
    is_kept[static_cast<std::size_t>(rank.group->rank())] = rank.model.values() == before;
    rank.step({1, 2});
    throw Error("the step before was wrong");
  });
  CHECK(is_kept == std::vector<int>{1, 1});
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 2: the gradient is not finite for a on rank 1, b on rank 1"));
  }
}

TEST_CASE("a step that ends with the refusal of the one before has its own verdict", "[ddp][gpu][multirank]") {
  std::vector<int> is_kept(kRanks);
  std::vector<std::string> first(kRanks);
  const auto messages = messages_of([&](Rank& rank) {
    const auto index = static_cast<std::size_t>(rank.group->rank());
    const std::vector<float> input = index == 1 ? std::vector<float>{kNaN, 1} : std::vector<float>{1, 1};
    rank.step({1, 2});
    const std::vector<float> before = rank.model.values();
    rank.step(input);
    try {
      rank.backward(input);
    } catch (const Error& error) {
      first[index] = error.what();
    }
    rank.optimizer.step(kLearningRate);
    is_kept[index] = rank.model.values() == before;
    rank.ddp.require_sound_gradients();
    throw Error("nobody has noticed");
  });
  CHECK(is_kept == std::vector<int>{1, 1});
  for (const std::string& message : first) {
    CHECK_THAT(message, ContainsSubstring("step 2: the gradient is not finite for a on rank 1, b on rank 1"));
  }
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 3: the gradient is not finite for a on rank 1, b on rank 1"));
  }
}

TEST_CASE("what waits for a device's gradients names a wrong one in its own step", "[ddp][gpu][multirank]") {
  const auto [name, wait] = GENERATE(table<std::string, std::function<void(Rank&)>>({
      {"clipping", [](Rank& rank) { (void)optim::clip_grad_norm(rank.model.parameters(), 1.0); }},
      {"averaging", [](Rank& rank) { (void)rank.ddp.average(1.0); }},
      {"asking", [](Rank& rank) { rank.ddp.require_sound_gradients(); }},
  }));
  INFO(name);
  const auto messages = messages_of([wait = wait](Rank& rank) {
    rank.step({1, 2});
    rank.backward(rank.group->rank() == 0 ? std::vector<float>{1, INFINITY} : std::vector<float>{1, 1});
    wait(rank);
    throw Error("nobody has noticed");
  });
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 2: the gradient is not finite for a on rank 0"));
  }
}

TEST_CASE("a parameter without a gradient on one device is named on all ranks and updates nothing",
          "[ddp][gpu][multirank]") {
  std::vector<int> is_kept(kRanks);
  const auto messages = messages_of([&](Rank& rank) {
    rank.step({1, 2});
    const std::vector<float> before = rank.model.values();
    rank.backward({1, 1}, rank.group->rank() == 0 ? std::vector<std::size_t>{1} : std::vector<std::size_t>{0, 1});
    rank.optimizer.step(kLearningRate);
    is_kept[static_cast<std::size_t>(rank.group->rank())] = rank.model.values() == before;
    rank.ddp.require_sound_gradients();
    throw Error("nobody has noticed");
  });
  CHECK(is_kept == std::vector<int>{1, 1});
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 2: backward gave no gradient to a on rank 0;"));
  }
}

TEST_CASE("on devices find_unused_parameters asks the ranks at once", "[ddp][gpu][multirank]") {
  const auto messages = messages_of(
      [](Rank& rank) {
        rank.backward({1, 1}, {1});
        if (rank.model.parameters()[0].has_gradient()) throw Error("a parameter that nobody uses was written");
        rank.backward(rank.group->rank() == 1 ? std::vector<float>{kNaN, 1} : std::vector<float>{1, 1}, {1});
      },
      {.find_unused_parameters = true});
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("step 2: the gradient is not finite for b on rank 1"));
  }
}
