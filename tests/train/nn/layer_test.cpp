// Hooks, chains of layers, and loading by name.
#include "nn/layer.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/primitives.hpp"
#include "base/bfloat16.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "kernels/elementwise.hpp"
#include "nn/gpt.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/sgd.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using autograd::Variable;
using lockstep::test::any_loss;
using lockstep::test::elements_of;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;
using lockstep::test::random_tokens;

namespace {

const nn::InitScope kWide(1, DType::kFloat64);

Tensor scaled(const Tensor& tensor, double factor) {
  Tensor result = tensor.clone();
  kernels::scale(result, factor);
  return result;
}

std::vector<std::string> parameter_names(const nn::Module& module) {
  std::vector<std::string> names;
  for (const nn::NamedParameter& named : module.named_parameters()) names.push_back(named.name);
  return names;
}

// A GPT's own layer, of type T.
template <typename T>
T& layer_of(nn::Module& model, const std::string& path) {
  for (const nn::NamedModule& named : model.named_modules()) {
    if (named.name == path) return dynamic_cast<T&>(named.module);
  }
  throw Error("no module " + path);
}

}  // namespace

TEST_CASE("a linear layer without inputs begins with a bias of 0, as PyTorch's", "[nn]") {
  const nn::Linear layer(0, 3, kWide);
  const Variable output = layer(Variable(Tensor::zeros({2, 0}, DType::kFloat64)));
  CHECK(output.shape() == Shape{2, 3});
  for (const double element : output.value().span<double>()) CHECK(element == 0);
}

TEST_CASE("a Sequential is its steps, one after the other, with PyTorch's names", "[nn]") {
  nn::Sequential model;
  model.append<nn::Linear>(4, 5, kWide).append(autograd::relu).append<nn::Linear>(5, 3, kWide, nn::Bias::kNo);
  CHECK(model.size() == 3);
  CHECK(parameter_names(model) == std::vector<std::string>{"0.weight", "0.bias", "2.weight"});
  const nn::Linear first(4, 5, kWide.child("0")), second(5, 3, kWide.child("2"), nn::Bias::kNo);
  const Variable x(random_tensor({2, 4}, 1));
  CHECK(elements_of(model(x).value()) == elements_of(second(autograd::relu(first(x))).value()));
  CHECK(elements_of(nn::Sequential()(x).value()) == elements_of(x.value()));
  CHECK(test::gradient_mismatch(model.parameters(), [&] { return any_loss(model(x)); }) == "");

  nn::Sequential nested;
  nested.append<nn::Sequential>().append<nn::LayerNorm>(4, kWide);
  layer_of<nn::Sequential>(nested, "0").append<nn::Linear>(4, 4, kWide);
  CHECK(parameter_names(nested) == std::vector<std::string>{"0.0.weight", "0.0.bias", "1.weight", "1.bias"});
  CHECK_THROWS_AS(model.append(nn::Sequential::Function()), ContractError);
}

TEST_CASE("forward hooks see input and output in order, and may replace them", "[nn]") {
  nn::Linear layer(3, 2, kWide);
  const Variable x(random_tensor({2, 3}, 1)), other(random_tensor({2, 3}, 2)), result(random_tensor({2, 2}, 3));
  std::vector<std::string> events;
  const std::vector<double> plain = elements_of(layer(x).value());
  const nn::HookHandle before = layer.register_forward_pre_hook([&](const nn::Layer& called, const Variable& input) {
    CHECK(&called == &layer);
    CHECK(input.value().data() == x.value().data());
    events.emplace_back("before");
    return Variable();
  });
  const nn::HookHandle after =
      layer.register_forward_hook([&](const nn::Layer&, const Variable& input, const Variable& output) {
        CHECK(input.value().data() == x.value().data());
        CHECK(elements_of(output.value()) == plain);
        events.emplace_back("after");
        return Variable();
      });
  CHECK(elements_of(layer(x).value()) == plain);
  CHECK(events == std::vector<std::string>{"before", "after"});
  CHECK(elements_of(layer.forward(x).value()) == plain);  // past the hooks, as in PyTorch
  CHECK(events.size() == 2);
  {
    const nn::HookHandle swap =
        layer.register_forward_pre_hook([&](const nn::Layer&, const Variable&) { return other; });
    const nn::HookHandle next = layer.register_forward_pre_hook([&](const nn::Layer&, const Variable& input) {
      CHECK(input.value().data() == other.value().data());  // what the hook before has put there
      return x;
    });
    CHECK(elements_of(layer(x).value()) == plain);
  }
  {
    const nn::HookHandle swap =
        layer.register_forward_hook([&](const nn::Layer&, const Variable&, const Variable&) { return result; });
    CHECK(elements_of(layer(x).value()) == elements_of(result.value()));
  }
  CHECK(elements_of(layer(x).value()) == plain);  // their handles are gone
  CHECK_THROWS_AS(layer.register_forward_hook({}), ContractError);
}

TEST_CASE("a hook goes with its handle, and a handle may outlive its layer", "[nn]") {
  int calls = 0;
  nn::HookHandle handle;
  {
    nn::Linear layer(3, 2, kWide);
    const Variable x(random_tensor({2, 3}, 1));
    handle = layer.register_forward_pre_hook([&](const nn::Layer&, const Variable&) {
      ++calls;
      return Variable();
    });
    (void)layer(x);
    handle.remove();
    (void)layer(x);
    CHECK(calls == 1);
    handle = layer.register_forward_pre_hook([&](const nn::Layer&, const Variable&) {
      ++calls;
      return Variable();
    });
  }
  handle.remove();
  CHECK(calls == 1);
}

TEST_CASE("backward hooks see the gradients of output and input, complete, and may replace them", "[nn]") {
  nn::Linear layer(3, 2, kWide);
  const Variable x = random_parameter({2, 3}, 1, "x"), twin = random_parameter({2, 2}, 2, "twin");
  // The output is used twice, so that its gradient has two contributions, and so has the input's.
  const auto loss = [&](const auto& run) {
    const Variable hidden = autograd::mul(x, 2.0), y = run(autograd::add(hidden, hidden));
    return any_loss(autograd::add(autograd::mul(y, twin), autograd::exp(y)));
  };
  const auto gradients = [&](const auto& run) {
    std::vector<std::vector<double>> all;
    for (const Variable& parameter : {x, twin, layer.parameters()[0], layer.parameters()[1]}) parameter.zero_grad();
    loss(run).backward();
    for (const Variable& parameter : {x, twin, layer.parameters()[0], layer.parameters()[1]}) {
      all.push_back(elements_of(parameter.gradient()));
    }
    return all;
  };
  const auto call = [&](const Variable& input) { return layer(input); };
  const auto plain = gradients(call);

  std::vector<std::string> events;
  std::vector<double> d_output, d_input;
  nn::HookHandle before = layer.register_full_backward_pre_hook([&](const nn::Layer&, const Tensor& gradient) {
    events.emplace_back("before");
    CHECK_FALSE(layer.parameters()[0].has_gradient());  // not through the layer yet
    d_output = elements_of(gradient);
    return Tensor();
  });
  nn::HookHandle after =
      layer.register_full_backward_hook([&](const nn::Layer&, const Tensor& of_input, const Tensor& of_output) {
        events.emplace_back("after");
        CHECK(layer.parameters()[0].has_gradient());
        CHECK(elements_of(of_output) == d_output);
        d_input = elements_of(of_input);
        return Tensor();
      });
  CHECK(gradients(call) == plain);
  CHECK(events == std::vector<std::string>{"before", "after"});
  CHECK(d_output.size() == 4);
  for (std::size_t i = 0; i < 6; ++i) CHECK(plain[0][i] == Approx(4 * d_input[i]));  // x enters as 2 x + 2 x
  for (std::size_t c = 0; c < 2; ++c) CHECK(plain[3][c] == Approx(d_output[c] + d_output[2 + c]));  // of the bias
  {
    const autograd::NoGradGuard no_grad;
    (void)layer(x);
  }
  CHECK(events.size() == 2);

  // Half the gradient in, a third out.
  before = layer.register_full_backward_pre_hook(
      [](const nn::Layer&, const Tensor& gradient) { return scaled(gradient, 0.5); });
  after = layer.register_full_backward_hook(
      [](const nn::Layer&, const Tensor& of_input, const Tensor&) { return scaled(of_input, 1.0 / 3); });
  const auto changed = gradients(call);
  for (std::size_t i = 0; i < 6; ++i) CHECK(changed[0][i] == Approx(plain[0][i] / 6));
  for (std::size_t i = 0; i < 6; ++i) CHECK(changed[2][i] == Approx(plain[2][i] / 2));
  CHECK(changed[1] == plain[1]);

  after = layer.register_full_backward_hook(
      [](const nn::Layer&, const Tensor&, const Tensor&) { return Tensor::zeros({7}, DType::kFloat64); });
  CHECK_THROWS_WITH(loss(call).backward(), ContainsSubstring("a gradient of shape [7] for one of shape [2, 3]"));
}

TEST_CASE("a backward hook of a layer whose input needs no gradient gets none", "[nn]") {
  nn::Linear layer(3, 2, kWide);
  int calls = 0;
  const nn::HookHandle handle =
      layer.register_full_backward_hook([&](const nn::Layer&, const Tensor& of_input, const Tensor& of_output) {
        CHECK_FALSE(of_input.is_defined());
        CHECK(of_output.shape() == Shape{2, 2});
        ++calls;
        return Tensor();
      });
  any_loss(layer(Variable(random_tensor({2, 3}, 1)))).backward();
  CHECK(calls == 1);
}

TEST_CASE("hooks on a GPT's layers are told, and change no bit", "[nn]") {
  nn::Gpt model({"test", 13, 8, 2, 2, 6, 3}, 1);
  const Tensor inputs = random_tokens({3, 6}, 13, 1), targets = random_tokens({3, 6}, 13, 2);
  const auto gradients = [&] {
    model.zero_grad();
    model.loss(inputs, targets).backward();
    std::vector<std::vector<double>> all;
    for (const Variable& parameter : model.parameters()) all.push_back(elements_of(parameter.gradient()));
    return all;
  };
  const auto plain = gradients();
  std::vector<std::string> events;
  std::vector<nn::HookHandle> handles;
  for (const char* const path : {"h.0.attn.c_attn", "h.1.mlp.c_fc", "h.1.mlp.c_proj"}) {
    auto& layer = layer_of<nn::Layer>(model, path);
    handles.push_back(layer.register_forward_hook([&events, path](auto&&...) {
      events.push_back(std::string("forward ") + path);
      return Variable();
    }));
    handles.push_back(layer.register_full_backward_hook([&events, path](auto&&...) {
      events.push_back(std::string("backward ") + path);
      return Tensor();
    }));
  }
  CHECK(gradients() == plain);
  CHECK(events == std::vector<std::string>{"forward h.0.attn.c_attn", "forward h.1.mlp.c_fc", "forward h.1.mlp.c_proj",
                                           "backward h.1.mlp.c_proj", "backward h.1.mlp.c_fc",
                                           "backward h.0.attn.c_attn"});
}

TEST_CASE("a state_dict loads into a module of the same names, whatever its seed", "[nn]") {
  const nn::Gpt from({"test", 13, 8, 2, 2, 6, 3}, 1);
  nn::Gpt to({"test", 13, 8, 2, 2, 6, 3}, 2);
  const std::vector<NamedTensor> state = from.state_dict();
  CHECK(state.size() == from.named_parameters().size());
  CHECK(state.front().name == "wte.weight");
  CHECK(state.front().tensor.data() == from.parameters().front().value().data());  // not a copy
  const nn::IncompatibleKeys keys = to.load_state_dict(state);
  CHECK(keys.missing_keys.empty());
  CHECK(keys.unexpected_keys.empty());
  for (std::size_t i = 0; i < state.size(); ++i) {
    CHECK(elements_of(to.parameters()[i].value()) == elements_of(state[i].tensor));
    CHECK(to.parameters()[i].value().data() != state[i].tensor.data());
  }
}

TEST_CASE("load_state_dict names everything that is missing, surplus or of another shape, and then loads nothing",
          "[nn]") {
  nn::Linear layer(3, 2, kWide);
  const std::vector<double> before = elements_of(layer.parameters()[0].value());
  const NamedTensor weight{"weight", random_tensor({2, 3}, 1)}, bias{"bias", random_tensor({2}, 2)},
      extra{"extra", random_tensor({1}, 3)}, more{"more", random_tensor({1}, 3)}, wrong{"bias", random_tensor({3}, 2)},
      single{"bias", random_tensor({2}, 2, DType::kFloat32)};
  const auto load = [&](std::vector<NamedTensor> state, nn::Strict strict) {
    return layer.load_state_dict(state, strict);
  };
  CHECK_THROWS_WITH(load({weight, extra, more}, nn::Strict::kYes),
                    ContainsSubstring("missing: bias") && ContainsSubstring("not the module's: extra, more"));
  CHECK_THROWS_WITH(load({weight, wrong}, nn::Strict::kNo),
                    ContainsSubstring("bias is float64 [3], the module's float64 [2]"));
  CHECK_THROWS_WITH(load({weight, single}, nn::Strict::kNo), ContainsSubstring("bias is float32 [2]"));
  CHECK_THROWS_WITH(load({weight, bias, weight}, nn::Strict::kYes), ContainsSubstring("weight comes twice"));
  CHECK_THROWS_AS(load({}, nn::Strict::kYes), FormatError);
  CHECK(elements_of(layer.parameters()[0].value()) == before);

  const nn::IncompatibleKeys keys = load({weight, extra}, nn::Strict::kNo);
  CHECK(keys.missing_keys == std::vector<std::string>{"bias"});
  CHECK(keys.unexpected_keys == std::vector<std::string>{"extra"});
  CHECK(elements_of(layer.parameters()[0].value()) == elements_of(weight.tensor));
}

TEST_CASE("buffers and tied parameters are in the state, types of 16 bits become float32", "[nn]") {
  class Model : public nn::Module {
   public:
    explicit Model(std::uint64_t seed) : layer(child<nn::Linear>("layer", 3, 3, nn::InitScope(seed))) {
      register_tied_parameter("head", layer.parameters()[0]);
      mean = register_buffer("mean", Tensor::zeros({2}));
    }
    nn::Linear& layer;
    nn::Buffer mean;
  };
  Model model(1);
  std::vector<NamedTensor> state = model.state_dict();
  CHECK(state.size() == 3);
  CHECK(state.back().name == "mean");
  const Tensor rounded = Tensor::empty({3, 3}, DType::kBFloat16);
  kernels::cast(rounded, random_tensor({3, 3}, 5, DType::kFloat32));
  state[0] = {"head", rounded};  // under its other name
  state[2].tensor = Tensor::from<float>(std::array{1.0F, 2.0F}, {2});
  CHECK_NOTHROW(model.load_state_dict(state));
  CHECK(elements_of(model.mean.value()) == std::vector<double>{1, 2});
  CHECK(model.layer.parameters()[0].value().span<float>()[4] == to_float(rounded.span<BFloat16>()[4]));
  const Tensor half = Tensor::empty({3, 3}, DType::kFloat16);
  kernels::cast(half, random_tensor({3, 3}, 6, DType::kFloat32));
  state[0].tensor = half;
  CHECK_NOTHROW(model.load_state_dict(state));
  CHECK(model.layer.parameters()[0].value().span<float>()[4] == to_float(half.span<Float16>()[4]));
  CHECK_THROWS_AS(nn::Buffer().value(), ContractError);
}

TEST_CASE("a frozen part of a model is not trained, and costs no optimizer state", "[nn]") {
  nn::Gpt model({"test", 13, 8, 2, 2, 6, 3}, 1);
  layer_of<nn::Module>(model, "h.0").set_requires_grad(false);
  const auto trained = nn::trained_parameters(model);
  CHECK(trained.size() == 2 + 12 + 2);
  CHECK(model.named_parameters().size() == 2 + 24 + 2);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));
  CHECK(optimizer.state().size() == 2 * trained.size());
  std::vector<std::vector<double>> before;
  for (const Variable& parameter : model.parameters()) before.push_back(elements_of(parameter.value()));
  model.loss(random_tokens({3, 6}, 13, 1), random_tokens({3, 6}, 13, 2)).backward();
  optimizer.step(0.1);
  const auto after = model.named_parameters();
  for (std::size_t i = 0; i < after.size(); ++i) {
    INFO(after[i].name);
    const bool is_frozen = after[i].name.starts_with("h.0.");
    CHECK(after[i].parameter.requires_grad() != is_frozen);
    CHECK((elements_of(after[i].parameter.value()) == before[i]) == is_frozen);
  }
  model.set_requires_grad(true);
  CHECK(nn::trained_parameters(model).size() == after.size());
}

TEST_CASE("a group of parameters has its own rate and decay", "[nn]") {
  const auto trained = [](double scale, double decay, double rate) {
    nn::Linear layer(3, 2, 1);
    nn::ParameterGroup weight, bias;
    weight.parameters = {layer.named_parameters()[0]};
    bias.parameters = {layer.named_parameters()[1]};
    weight.learning_rate_scale = scale;
    weight.weight_decay = decay;
    optim::Sgd optimizer({weight, bias});
    any_loss(layer(Variable(random_tensor({2, 3}, 1, DType::kFloat32)))).backward();
    optimizer.step(rate);
    return std::pair(elements_of(layer.parameters()[0].value()), elements_of(layer.parameters()[1].value()));
  };
  CHECK(trained(0.5, 0.1, 0.2).first == trained(1, 0.1, 0.1).first);
  CHECK(trained(0.5, 0.1, 0.2).second == trained(1, 0.1, 0.2).second);
  CHECK(trained(0.5, 0.1, 0.2).second != trained(1, 0.1, 0.1).second);
  CHECK(trained(1, 0.1, 0.2).first != trained(1, 0, 0.2).first);
}

TEST_CASE("a model moves to a device and computes there what it would have been made with", "[nn][gpu]") {
  const Device device = test::accelerator();
  const nn::GptConfig config{"test", 13, 8, 2, 2, 6, 3};
  nn::Gpt moved(config, 1);
  const nn::Gpt made(config, {1, device});
  const Tensor inputs = random_tokens({3, 6}, 13, 1), targets = random_tokens({3, 6}, 13, 2);
  (void)moved.loss(inputs, targets);  // what was rounded or cached for the host is forgotten
  moved.to(device);
  const Variable loss = moved.loss(inputs, targets), expected = made.loss(inputs, targets);
  CHECK(loss.value().item() == expected.value().item());
  loss.backward();
  expected.backward();
  for (std::size_t i = 0; i < made.parameters().size(); ++i) {
    CHECK(moved.parameters()[i].value().device() == device);
    CHECK(elements_of(moved.parameters()[i].gradient()) == elements_of(made.parameters()[i].gradient()));
  }
  moved.to(Device{});
  CHECK(moved.loss(inputs, targets).value().item() == Approx(expected.value().item()).epsilon(1e-5));
}

TEST_CASE("a watched model does not move, nor does a part of it", "[nn][gpu]") {
  class Silent : public autograd::GradientObserver {
   public:
    void on_gradient_ready(Variable&) override {}
    void on_backward_end() override {}
  };
  class Model : public nn::Module {
   public:
    Model()
        : layer(child<nn::Linear>("layer", 3, 3, nn::InitScope(1))),
          mean(register_buffer("mean", Tensor::zeros({2}))) {}
    nn::Linear& layer;
    nn::Buffer mean;
  };
  const Device device = test::accelerator();
  Silent observer;
  Model model;
  model.parameters()[1].add_observer(&observer);
  CHECK_THROWS_WITH(model.to(device), ContainsSubstring("layer.bias is watched") && ContainsSubstring("before"));
  CHECK(model.parameters()[0].value().device().is_cpu());
  model.parameters()[1].remove_observer(&observer);
  model.to(device);
  CHECK(model.mean.value().device() == device);
  CHECK(model.named_buffers()[0].value.device() == device);
}
