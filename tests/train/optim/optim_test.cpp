// Optimizers, clipping and schedules against values that record_pytorch.py wrote.
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using autograd::Variable;
using nlohmann::json;

namespace {

constexpr double kLearningRate = 0.05;

json recorded(const std::string& part) {
  return parse_json(read_file(LOCKSTEP_SOURCE_DIR "/tests/train/optim/pytorch_values.json")).at(part);
}

template <typename Formula>
Tensor from_formula(const Shape& shape, const Formula& formula) {
  Tensor tensor = Tensor::empty(shape);
  for (std::size_t i = 0; i < tensor.span<float>().size(); ++i)
    tensor.span<float>()[i] = static_cast<float>(formula(i));
  return tensor;
}

// The recorder's parameters and gradients.
struct Parameters {
  Variable matrix = parameter(0, {3, 4}, "matrix");
  Variable bias = parameter(1, {5}, "bias");

  static Variable parameter(int kind, const Shape& shape, const std::string& name) {
    const auto value = [kind](std::size_t i) { return std::sin(1.0 + 0.7 * kind + 1.3 * static_cast<double>(i)); };
    return Variable::parameter(from_formula(shape, value), name);
  }
  void set_gradients(int step) const {
    int kind = 0;
    for (const Variable& parameter : {matrix, bias}) {
      const auto gradient = [&](std::size_t i) {
        const double power = std::pow(10.0, static_cast<double>(i % 4) - 2);
        return std::cos(0.3 + 0.9 * kind + 1.1 * step + 0.8 * static_cast<double>(i)) * power;
      };
      parameter.zero_grad();
      parameter.begin_gradient_write().first.copy_from(from_formula(parameter.value().shape(), gradient));
      ++kind;
    }
  }
  [[nodiscard]] std::vector<nn::ParameterGroup> groups() const {
    return {{{{"matrix", matrix}}, 0.1}, {{{"bias", bias}}, 0}};
  }
};

// Values are around 1, so three steps round by a few times 6e-8; gradients reach 10.
double difference(const Tensor& ours, const json& theirs) {
  double largest = 0;
  REQUIRE(static_cast<std::size_t>(ours.count()) == theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto expected = theirs[i].get<double>();
    largest = std::max(
        largest, std::abs(static_cast<double>(ours.span<float>()[i]) - expected) / std::max(1.0, std::abs(expected)));
  }
  return largest;
}

template <typename Make>
void check_optimizer(const std::string& name, const Make& make) {
  const Parameters parameters;
  const auto optimizer = make(parameters.groups());
  const json steps = recorded("optimizers").at(name);
  int step = 0;
  for (const json& expected : steps) {
    parameters.set_gradients(step++);
    optimizer->step(kLearningRate);
    INFO(name << " step " << step);
    CHECK(difference(parameters.matrix.value(), expected.at("matrix")) < 3e-7);
    CHECK(difference(parameters.bias.value(), expected.at("bias")) < 3e-7);
  }
  CHECK(optimizer->step_counts().steps == 3);
}

}  // namespace

TEST_CASE("three steps of each optimizer are PyTorch's", "[optim]") {
  using Groups = std::vector<nn::ParameterGroup>;
  check_optimizer("sgd", [](Groups groups) { return std::make_unique<optim::Sgd>(std::move(groups)); });
  check_optimizer("sgd_momentum", [](Groups groups) {
    return std::make_unique<optim::Sgd>(std::move(groups), optim::SgdOptions{.momentum = 0.9});
  });
  check_optimizer("sgd_nesterov", [](Groups groups) {
    return std::make_unique<optim::Sgd>(std::move(groups), optim::SgdOptions{.momentum = 0.9, .is_nesterov = true});
  });
  check_optimizer("adam", [](Groups groups) { return std::make_unique<optim::Adam>(std::move(groups)); });
  check_optimizer("adamw", [](Groups groups) {
    return std::make_unique<optim::AdamW>(std::move(groups), optim::AdamWOptions{.beta2 = 0.95});
  });
}

TEST_CASE("an optimizer whose state is restored goes on as if it had never stopped", "[optim]") {
  const Parameters straight, resumed;
  optim::AdamW whole(straight.groups()), first(resumed.groups());
  for (int step = 0; step < 4; ++step) {
    straight.set_gradients(step);
    whole.step(kLearningRate);
  }
  for (int step = 0; step < 2; ++step) {
    resumed.set_gradients(step);
    first.step(kLearningRate);
  }
  optim::AdamW second(resumed.groups());
  const auto from = first.state(), to = second.state();
  REQUIRE(from.size() == 4);
  CHECK(from[0].name == "matrix.exp_avg");
  CHECK(from[3].name == "bias.exp_avg_sq");
  for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.copy_from(from[i].tensor);
  second.set_step_counts(first.step_counts());
  for (int step = 2; step < 4; ++step) {
    resumed.set_gradients(step);
    second.step(kLearningRate);
  }
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(straight.matrix.value().span<float>()[i] == resumed.matrix.value().span<float>()[i]);
}

TEST_CASE("SGD has state with momentum only, and a module is one group without decay", "[optim]") {
  const nn::Linear layer(2, 3, 1);
  CHECK(optim::Sgd(layer).state().empty());
  const auto state = optim::Sgd(layer, {.momentum = 0.5}).state();
  REQUIRE(state.size() == 2);
  CHECK(state[0].name == "weight.momentum_buffer");
  CHECK(state[0].tensor.shape() == Shape{3, 2});
  CHECK(optim::Adam(layer).groups().front().weight_decay == 0);
}

TEST_CASE("a parameter without a gradient stays as it is, and zero_grad takes gradients away", "[optim]") {
  const Parameters parameters;
  optim::AdamW optimizer(parameters.groups());
  parameters.set_gradients(0);
  optimizer.zero_grad();
  const Tensor before = parameters.matrix.value().clone();
  optimizer.step(kLearningRate);
  for (std::size_t i = 0; i < 12; ++i) CHECK(before.span<float>()[i] == parameters.matrix.value().span<float>()[i]);
}

namespace {

// algorithm 1 of Kingma and Ba in double precision, for one element
struct ScalarAdam {
  double value, m = 0, v = 0;
  int updates = 0;

  void step(double gradient) {
    ++updates;
    m = 0.9 * m + 0.1 * gradient;
    v = 0.999 * v + 0.001 * gradient * gradient;
    const double mean = m / (1 - std::pow(0.9, updates)), square = v / (1 - std::pow(0.999, updates));
    value -= kLearningRate * mean / (std::sqrt(square) + 1e-8);
  }
};

void set_gradient(const Variable& parameter, float value) {
  parameter.begin_gradient_write().first.copy_from(Tensor::from<float>(std::array{value}, {1}));
}

// Steps [from, to) of an optimizer over two parameters of one element; `rare` has a gradient in steps 100 and 103 only.
void take_steps(optim::Optimizer& optimizer, const Variable& usual, const Variable& rare, int from, int to) {
  for (int step = from; step < to; ++step) {
    optimizer.zero_grad();
    set_gradient(usual, 0.5F);
    if (step == 100 || step == 103) set_gradient(rare, 0.25F * static_cast<float>(step - 99));
    optimizer.step(kLearningRate);
  }
}

}  // namespace

TEST_CASE("Adam counts the updates of each parameter, also after its counts are restored", "[optim]") {
  const Variable usual = Variable::parameter(Tensor::from<float>(std::array{1.0F}, {1}), "usual");
  const Variable rare = Variable::parameter(Tensor::from<float>(std::array{1.0F}, {1}), "rare");
  const std::vector<nn::ParameterGroup> groups{{{{"usual", usual}, {"rare", rare}}, 0}};
  const int restart = GENERATE(0, 50, 102);
  optim::Adam first(groups), second(groups);
  take_steps(first, usual, rare, 0, restart);
  const auto from = first.state(), to = second.state();
  for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.copy_from(from[i].tensor);
  second.set_step_counts(first.step_counts());
  take_steps(second, usual, rare, restart, 104);
  CHECK(second.step_counts().steps == 104);
  CHECK(second.step_counts().fewer == std::map<std::string, std::int64_t>{{"rare", 2}});

  ScalarAdam expected{1};
  expected.step(0.25);
  expected.step(1.0);
  // Each update of 0.05 rounds to float32 a few times; with the first one counted as the 101st it would be 0.48.
  CHECK(rare.value().item() == Approx(expected.value).margin(1e-6));
  CHECK_THROWS_WITH(first.set_step_counts({.steps = 3, .fewer = {{"unknown", 1}}}), ContainsSubstring("has 0"));
}

TEST_CASE("optimizers refuse modules without parameters, such as one that has registered no layer", "[optim]") {
  class Empty : public nn::Module {};
  CHECK_THROWS_WITH(optim::Sgd(Empty()), ContainsSubstring("no parameter"));
}

TEST_CASE("one observer of a parameter may forbid its update, two are refused", "[optim]") {
  class Forbidding : public autograd::GradientObserver {
   public:
    explicit Forbidding(std::int64_t verdict) : verdict_(Tensor::from<std::int64_t>(std::span(&verdict, 1), {1})) {}
    void on_gradient_ready(Variable&) override {}
    void on_backward_end() override {}
    [[nodiscard]] Tensor veto() const override { return verdict_; }

   private:
    Tensor verdict_;
  };
  class Silent : public autograd::GradientObserver {
   public:
    void on_gradient_ready(Variable&) override {}
    void on_backward_end() override {}
  };
  const Variable parameter = Variable::parameter(Tensor::from<float>(std::array{1.0F}, {1}), "parameter");
  optim::Sgd optimizer(std::vector<nn::ParameterGroup>{{{{"parameter", parameter}}, 0}});
  Silent silent;
  Forbidding forbids(1), allows(0);
  parameter.add_observer(&silent);
  parameter.add_observer(&forbids);
  set_gradient(parameter, 0.5F);
  optimizer.step(1.0);
  CHECK(parameter.value().item() == 1.0);
  parameter.remove_observer(&forbids);
  parameter.add_observer(&allows);
  optimizer.step(1.0);
  CHECK(parameter.value().item() == 0.5);
  parameter.add_observer(&forbids);
  CHECK_THROWS_WITH(optimizer.step(1.0), ContainsSubstring("two observers of parameter"));
}

TEST_CASE("optimizers refuse float64 parameters", "[optim]") {
  const nn::Linear layer(2, 3, nn::InitScope(1, DType::kFloat64));
  const auto expected = ContainsSubstring("optim: weight is float64; optimizers update float32");
  CHECK_THROWS_WITH(optim::AdamW({nn::all_parameters(layer)}), expected);
  CHECK_THROWS_WITH(optim::Sgd(layer), expected);  // before the first step
}

TEST_CASE("clipping is PyTorch's", "[optim]") {
  for (const json& expected : recorded("clip")) {
    const Parameters parameters;
    parameters.set_gradients(0);
    const double norm =
        optim::clip_grad_norm({parameters.matrix, parameters.bias}, expected.at("max_norm").get<double>());
    CHECK(norm == Approx(expected.at("norm").get<double>()).epsilon(1e-6));
    CHECK(difference(parameters.matrix.gradient(), expected.at("matrix")) < 3e-7);
    CHECK(difference(parameters.bias.gradient(), expected.at("bias")) < 3e-7);
  }
}

TEST_CASE("ranks that add up their squared norms and clip to the root clip as one process does", "[optim]") {
  const Parameters alone, divided;
  alone.set_gradients(0);
  divided.set_gradients(0);
  const double norm = optim::clip_grad_norm({alone.matrix, alone.bias}, 0.5);
  REQUIRE(norm > 0.5);
  const double first = optim::squared_norm({divided.matrix}), second = optim::squared_norm({divided.bias});
  CHECK(std::sqrt(first + second) == norm);
  optim::clip_to({divided.matrix}, norm, 0.5);
  optim::clip_to({divided.bias}, norm, 0.5);
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(divided.matrix.gradient().span<float>()[i] == alone.matrix.gradient().span<float>()[i]);
  }
  CHECK(divided.bias.gradient().span<float>()[0] == alone.bias.gradient().span<float>()[0]);
}

TEST_CASE("a norm that is small enough scales nothing, and one that is NaN makes all gradients NaN", "[optim]") {
  const Parameters parameters;
  parameters.set_gradients(0);
  const float before = parameters.matrix.gradient().span<float>()[0];
  optim::clip_to({parameters.matrix}, 0.9, 1);
  CHECK(parameters.matrix.gradient().span<float>()[0] == before);
  optim::clip_to({parameters.matrix, parameters.bias}, std::nan(""), 1);
  CHECK(std::isnan(parameters.matrix.gradient().span<float>()[0]));
  CHECK(optim::squared_norm({}) == 0);
}

TEST_CASE("an infinite limit leaves infinite gradients alone, and a finite one does what PyTorch does", "[optim]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Parameters parameters;
  parameters.set_gradients(0);
  const auto gradient = parameters.matrix.gradient().span<float>();
  gradient[0] = std::numeric_limits<float>::infinity();
  const float second = gradient[1];
  CHECK(optim::clip_grad_norm({parameters.matrix, parameters.bias}, kInfinity) == kInfinity);
  CHECK(gradient[0] == std::numeric_limits<float>::infinity());
  CHECK(gradient[1] == second);
  optim::clip_to({parameters.matrix}, std::nan(""), kInfinity);
  CHECK(gradient[1] == second);
  optim::clip_to({parameters.matrix}, kInfinity, 1);
  CHECK(std::isnan(gradient[0]));
  CHECK(gradient[1] == 0);
}

TEST_CASE("clipping skips parameters without gradients, and infinity only measures", "[optim]") {
  const Parameters parameters;
  CHECK(optim::clip_grad_norm({parameters.matrix, parameters.bias}, 1) == 0);
  parameters.set_gradients(0);
  parameters.bias.zero_grad();
  const Tensor before = parameters.matrix.gradient().clone();
  CHECK(optim::clip_grad_norm({parameters.matrix, parameters.bias}, std::numeric_limits<double>::infinity()) > 0);
  for (std::size_t i = 0; i < 12; ++i) CHECK(before.span<float>()[i] == parameters.matrix.gradient().span<float>()[i]);
}

namespace {

// PyTorch computes each rate from the one before: a rounding of double precision per step.
void check_rates(const optim::Schedule& schedule, const json& rates) {
  REQUIRE(rates.size() > 5);
  for (std::size_t step = 0; step < rates.size(); ++step) {
    CAPTURE(step);
    CHECK(schedule.at(static_cast<std::int64_t>(step)) ==
          Approx(rates[step].get<double>()).epsilon(1e-9).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("cosine with warm-up is PyTorch's LinearLR, then CosineAnnealingLR", "[optim]") {
  for (const json& expected : recorded("cosine")) {
    const double rate = expected.at("learning_rate").get<double>();
    const auto warmup = expected.at("warmup_steps").get<std::int64_t>();
    const optim::CosineDecay cosine({.learning_rate = rate,
                                     .total_steps = expected.at("total_steps").get<std::int64_t>() - warmup,
                                     .minimum = expected.at("minimum").get<double>()});
    check_rates(optim::with_warmup(rate, warmup, cosine), expected.at("rates"));
  }
}

TEST_CASE("linear decay is PyTorch's LinearLR", "[optim]") {
  for (const json& expected : recorded("linear")) {
    check_rates(optim::LinearDecay({.learning_rate = expected.at("learning_rate").get<double>(),
                                    .total_steps = expected.at("total_steps").get<std::int64_t>(),
                                    .minimum = expected.at("minimum").get<double>()}),
                expected.at("rates"));
  }
}

TEST_CASE("a sequence of schedules is PyTorch's SequentialLR", "[optim]") {
  for (const json& expected : recorded("sequential")) {
    const double rate = expected.at("learning_rate").get<double>();
    const auto steps = expected.at("total_steps").get<std::int64_t>();
    const optim::Sequential schedule(
        {optim::LinearWarmup(rate, expected.at("warmup_steps").get<std::int64_t>()), optim::Constant(rate),
         optim::LinearDecay({.learning_rate = rate, .total_steps = steps, .minimum = rate / 10}),
         optim::CosineDecay({.learning_rate = rate, .total_steps = steps})},
        expected.at("milestones").get<std::vector<std::int64_t>>());
    check_rates(schedule, expected.at("rates"));
  }
}

TEST_CASE("schedules at their edges", "[optim]") {
  CHECK(optim::Constant(0.1).at(1000) == 0.1);
  CHECK(optim::LinearWarmup(0.1, 4).at(0) == Approx(0.025));
  CHECK(optim::LinearWarmup(0.1, 4).at(3) == Approx(0.1));
  CHECK(optim::LinearWarmup(0.1, 0).at(0) == 0.1);
  const optim::CosineDecay cosine({.learning_rate = 1, .total_steps = 10, .minimum = 0.2});
  CHECK(cosine.at(0) == 1);
  CHECK(cosine.at(5) == Approx(0.6));
  CHECK(cosine.at(10) == 0.2);
  CHECK(cosine.at(1000) == 0.2);
  CHECK(optim::LinearDecay({.learning_rate = 1, .total_steps = 10, .minimum = 0.2}).at(1000) == 0.2);
  CHECK(optim::CosineDecay({.learning_rate = 1, .total_steps = 0}).at(0) == 0);
  CHECK(optim::LinearDecay({.learning_rate = 1, .total_steps = 0}).at(0) == 0);
  CHECK(optim::with_warmup(1, 0, cosine).at(0) == 1);
  CHECK(optim::with_warmup(1, 3, cosine).at(3) == 1);
  CHECK_THROWS_AS(optim::with_warmup(1, -1, cosine), ContractError);
  CHECK_THROWS_AS(optim::CosineDecay({.total_steps = -1}), ContractError);
  CHECK_THROWS_AS(optim::LinearDecay({.total_steps = -1}), ContractError);
}

TEST_CASE("a sequence of schedules needs milestones that rise, one fewer than schedules", "[optim]") {
  const optim::Constant constant(1);
  CHECK(optim::Sequential({constant}, {}).at(5) == 1);
  CHECK_THROWS_AS(optim::Sequential({}, {}), ContractError);
  CHECK_THROWS_AS(optim::Sequential({constant, constant}, {}), ContractError);
  CHECK_THROWS_AS(optim::Sequential({constant, constant, constant}, {5, 4}), ContractError);
}

TEST_CASE("Nesterov's SGD needs a momentum", "[optim]") {
  const nn::Linear layer(2, 3, 1);
  CHECK_THROWS_AS(optim::Sgd(layer, {.is_nesterov = true}), ContractError);
}
