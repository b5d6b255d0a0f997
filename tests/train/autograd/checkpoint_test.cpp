// Activation checkpointing: nothing changes but memory and time.
#include "autograd/checkpoint.hpp"

#include <array>
#include <string>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "device/storage.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;

namespace {

class OrderRecorder : public GradientObserver {
 public:
  void on_gradient_ready(Variable& parameter) override { events.push_back(parameter.name()); }
  void on_backward_end() override { events.emplace_back("end"); }

  std::vector<std::string> events;
};

// input -> inside (two layers, two outputs) -> outside; `tied` is used inside and outside.
struct Model {
  Variable input, first, second, tied;
  OrderRecorder recorder;

  explicit Model(DType dtype = DType::kFloat32)
      : input(Variable::parameter(random_tensor({6, 16}, 1, dtype), "input")),
        first(Variable::parameter(random_tensor({16, 16}, 2, dtype), "first")),
        second(Variable::parameter(random_tensor({16, 16}, 3, dtype), "second")),
        tied(Variable::parameter(random_tensor({16, 16}, 4, dtype), "tied")) {
    for (const Variable& parameter : parameters()) parameter.add_observer(&recorder);
  }

  [[nodiscard]] std::vector<Variable> parameters() const { return {input, first, second, tied}; }

  [[nodiscard]] Variable loss(bool is_checkpointed) const {
    const auto inside = [this](std::span<const Variable> x) {
      static const std::array<std::int64_t, 6> kSamples{3, 1, 4, 1, 5, 9};
      const Variable wide = gelu(linear(x[0], first, {}));
      const Variable dropped = dropout(linear(wide, second, {}), {0.2F, kernels::dropout_key(1, 2, 3), kSamples});
      return std::vector{add(dropped, linear(x[1], tied, {})), relu(wide)};
    };
    const Variable before = gelu(input);
    const std::vector<Variable> inputs{before, relu(input)};
    const std::vector<Variable> outputs = is_checkpointed ? checkpoint(inside, inputs) : inside(inputs);
    const Variable after = linear(add(outputs[0], before), tied, {});
    return mse_loss(add(after, outputs[1]), random_tensor({6, 16}, 5, input.value().dtype()));
  }

  [[nodiscard]] std::vector<std::vector<float>> gradients(bool is_checkpointed, int times = 1) const {
    for (const Variable& parameter : parameters()) parameter.zero_grad();
    for (int i = 0; i < times; ++i) loss(is_checkpointed).backward();
    std::vector<std::vector<float>> all;
    for (const Variable& parameter : parameters()) {
      const auto span = parameter.gradient().span<float>();
      all.emplace_back(span.begin(), span.end());
    }
    return all;
  }
};

}  // namespace

TEST_CASE("gradients through a checkpoint are those without it, bit for bit", "[autograd][checkpoint]") {
  const bool is_bfloat16 = GENERATE(false, true);
  const Autocast autocast(is_bfloat16);
  const Model model;
  CHECK(model.loss(true).value().item() == model.loss(false).value().item());
  CHECK(model.gradients(true) == model.gradients(false));
  CHECK(model.gradients(true, 3) == model.gradients(false, 3));  // added up over three backwards
}

TEST_CASE("gradients through a checkpoint are slopes", "[autograd][checkpoint]") {
  const Model model(DType::kFloat64);
  CHECK(test::gradient_mismatch(
            model.parameters(), [&] { return model.loss(true); }, 8) == "");
}

TEST_CASE("observers see each parameter once, after its last contribution, checkpoint or not",
          "[autograd][checkpoint]") {
  Model model;
  model.loss(true).backward();
  const std::vector<std::string> events = model.recorder.events;
  REQUIRE(events.size() == 5);
  CHECK(events.back() == "end");
  for (const Variable& parameter : model.parameters()) {
    CHECK(std::count(events.begin(), events.end(), parameter.name()) == 1);
  }
  CHECK(events[3] == "input");  // everything else is used after it
}

TEST_CASE("checkpoints can be nested", "[autograd][checkpoint]") {
  const Variable x = random_parameter({3, 4}, 1, "x"), w = random_parameter({4, 4}, 2, "w"),
                 v = random_parameter({4, 4}, 3, "v");
  const auto inner = [&](std::span<const Variable> in) { return std::vector{gelu(linear(in[0], w, {}))}; };
  const auto outer = [&](std::span<const Variable> in) {
    return std::vector{linear(checkpoint(inner, {in[0]})[0], v, {})};
  };
  OrderRecorder recorder;
  w.add_observer(&recorder);
  CHECK(test::gradient_mismatch({x, w, v}, [&] {
          return mse_loss(checkpoint(outer, {gelu(x)})[0], random_tensor({3, 4}, 4));
        }) == "");
  CHECK(recorder.events == std::vector<std::string>{"w", "end"});
}

TEST_CASE("without gradients, or without anything that needs one, a checkpoint is a plain call",
          "[autograd][checkpoint]") {
  const Variable data(random_tensor({2, 4}, 1)), w = random_parameter({4, 4}, 2, "w");
  const auto square = [](std::span<const Variable> in) { return std::vector{gelu(in[0])}; };
  CHECK_FALSE(checkpoint(square, {data})[0].requires_grad());
  const NoGradGuard no_grad;
  CHECK_FALSE(checkpoint(square, {w})[0].requires_grad());
}

TEST_CASE("an output that nothing uses, and a failing function, leave no trace", "[autograd][checkpoint]") {
  const Variable x = random_parameter({2, 4}, 1, "x"), w = random_parameter({4, 4}, 2, "w");
  int calls = 0;
  const auto both = [&](std::span<const Variable> in) {
    if (++calls == 4) throw Error("no");
    return std::vector{gelu(in[0]), linear(in[0], w, {})};
  };
  const auto loss = [&] { return mse_loss(checkpoint(both, {gelu(x)})[0], random_tensor({2, 4}, 3)); };
  OrderRecorder recorder;
  w.add_observer(&recorder);
  loss().backward();
  CHECK(x.has_gradient());
  CHECK_FALSE(w.has_gradient());
  CHECK_THROWS_WITH(loss().backward(), "no");  // the fourth call is this backward's
  calls = 10;
  x.zero_grad();
  CHECK(test::gradient_mismatch({x}, loss) == "");
}

TEST_CASE("a checkpointed chain holds less memory", "[autograd][checkpoint]") {
  const Variable x = Variable::parameter(random_tensor({64, 64}, 1, DType::kFloat32), "x");
  const auto block = [](std::span<const Variable> in) {
    Variable y = in[0];
    for (int i = 0; i < 8; ++i) y = gelu(y);
    return std::vector{y};
  };
  const auto peak = [&](bool is_checkpointed) {
    const std::size_t before = allocator_statistics().bytes_in_use;
    reset_peak();
    Variable y = x;
    for (int i = 0; i < 8; ++i) y = is_checkpointed ? checkpoint(block, {y})[0] : block(std::array{y})[0];
    mse_loss(y, Tensor::zeros({64, 64})).backward();
    return allocator_statistics().peak_bytes_in_use - before;
  };
  (void)peak(false);  // makes the gradient of x
  // 64 activations against 8, and the 8 of one block: a third leaves room for gradients.
  CHECK(peak(true) * 3 < peak(false));
}
