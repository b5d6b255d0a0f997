// Names, initial values, and the whole models against finite differences.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "base/error.hpp"
#include "nn/gpt.hpp"
#include "nn/layers.hpp"
#include "optim/clip.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using autograd::Variable;
using lockstep::test::gradient_mismatch;
using lockstep::test::random_tensor;
using lockstep::test::random_tokens;

namespace {

nn::GptConfig small_config(double dropout = 0) { return {"test", 13, 8, 2, 2, 6, 3, dropout}; }

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& named : module.named_parameters()) names.push_back(named.name);
  return names;
}

std::vector<float> values_of(const nn::Module& module) {
  std::vector<float> values;
  for (const Variable& parameter : module.parameters()) {
    const auto span = parameter.value().span<float>();
    values.insert(values.end(), span.begin(), span.end());
  }
  return values;
}

const Tensor& parameter_called(const nn::Module& module, const std::string& name) {
  for (const auto& named : module.named_parameters()) {
    if (named.name == name) return named.parameter.value();
  }
  throw Error("no parameter " + name);
}

double deviation_of(const Tensor& tensor) {
  double squares = 0;
  for (const float value : tensor.span<float>()) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares / static_cast<double>(tensor.count()));
}

}  // namespace

TEST_CASE("a GPT's parameters have Hugging Face's names and shapes, the tied head once", "[nn]") {
  const nn::Gpt model(small_config(), 1);
  const std::vector<std::string> names = names_of(model);
  CHECK(names.size() == 2 + 2 * 12 + 2);
  const std::vector<std::string> first(names.begin(), names.begin() + 15);
  CHECK(first == std::vector<std::string>{"wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias",
                                          "h.0.attn.c_attn.weight", "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight",
                                          "h.0.attn.c_proj.bias", "h.0.ln_2.weight", "h.0.ln_2.bias",
                                          "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight",
                                          "h.0.mlp.c_proj.bias", "h.1.ln_1.weight"});
  CHECK(names.back() == "ln_f.bias");
  CHECK(parameter_called(model, "h.0.attn.c_attn.weight").shape() == Shape{8, 24});
  CHECK(parameter_called(model, "wpe.weight").shape() == Shape{6, 8});
  for (const auto& named : model.named_parameters()) CHECK(named.parameter.name() == named.name);
}

TEST_CASE("the named configurations have GPT-2's parameter counts", "[nn]") {
  CHECK(nn::GptConfig::named("124m").layer_count == 12);
  CHECK(nn::GptConfig::named("tutorial").context_length == 127);
  const nn::GptConfig tiny = nn::GptConfig::named("tiny");
  // V C + T C + layers (12 C^2 + 13 C) + 2 C
  CHECK(nn::Gpt(tiny, 1).parameter_count() == 256 * 128 + 128 * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 2 * 128);
  CHECK(nn::Gpt(nn::GptConfig::named("tutorial"), 1).parameter_count() ==
        50257 * 512 + 127 * 512 + 6 * (12 * 512 * 512 + 13 * 512) + 2 * 512);
  CHECK(nn::Gpt(nn::GptConfig::named("124m"), 1).parameter_count() == 124'439'808);  // as Hugging Face's "gpt2"
  CHECK_THROWS_WITH(nn::GptConfig::named("huge"), ContainsSubstring("tiny, small, tutorial"));
  CHECK(nn::GptConfig::names() == std::vector<std::string>{"tiny", "small", "tutorial", "124m"});
}

TEST_CASE("large tensors, which several threads draw, get the values that each element has by itself", "[nn]") {
  // Not a multiple of the four values of a block, nor of the parts; 16384 blocks and more are shared by threads.
  constexpr std::int64_t kCount = 4 * 3 * 16384 + 6;
  const nn::InitScope scope(7);
  const Tensor normal = scope.normal("x", {kCount}, 0.5), uniform = scope.uniform("x", {kCount}, 0.5);
  const Tensor constant = scope.constant({kCount}, 3);
  for (const std::int64_t length : {1, 5, 1000, 65536, 98307, 131079, 196613}) {  // the shorter ones by one thread
    const auto last = static_cast<std::size_t>(length - 1);
    CHECK(scope.normal("x", {length}, 0.5).span<float>()[last] == normal.span<float>()[last]);
    CHECK(scope.uniform("x", {length}, 0.5).span<float>()[last] == uniform.span<float>()[last]);
  }
  for (const float value : constant.span<float>()) REQUIRE(value == 3);
}

TEST_CASE("forward and backward only read the weights, so that a save in the background does not hold them up",
          "[nn]") {
  const bool is_bfloat16 = GENERATE(false, true);
  const autograd::Autocast autocast(is_bfloat16);
  const nn::Gpt model(small_config(0.1), 5);
  const Tensor inputs = random_tokens({3, 6}, 13, 1), targets = random_tokens({3, 6}, 13, 2);
  const auto accesses = [&model] {
    std::vector<std::uint64_t> counts;
    for (const Variable& parameter : model.parameters())
      counts.push_back(parameter.value().storage()->write_accesses());
    return counts;
  };
  const auto before = accesses();
  const std::vector<std::int64_t> ids{0, 1, 2};
  model.loss(inputs, targets, {.is_training = true, .sample_ids = ids}).backward();
  (void)optim::clip_grad_norm(model.parameters(), 1.0);
  CHECK(accesses() == before);
}

TEST_CASE("initial values depend on the seed and the name, and on nothing else", "[nn]") {
  const nn::Gpt a(small_config(), 1), b(small_config(), 1), other(small_config(), 2);
  CHECK(values_of(a) == values_of(b));
  CHECK(values_of(a) != values_of(other));

  nn::GptConfig deeper = small_config();
  deeper.layer_count = 3;
  const nn::Gpt with_three(deeper, 1);
  const auto first = parameter_called(a, "h.1.attn.c_attn.weight").span<float>();
  const auto second = parameter_called(with_three, "h.1.attn.c_attn.weight").span<float>();
  CHECK(std::vector(first.begin(), first.end()) == std::vector(second.begin(), second.end()));
  CHECK(first[0] != parameter_called(a, "h.0.attn.c_attn.weight").span<float>()[0]);
}

TEST_CASE("a GPT starts with GPT-2's deviations and a loss of log V", "[nn]") {
  const nn::GptConfig config{"test", 300, 64, 4, 8, 32};
  const nn::Gpt model(config, 1);
  // The relative standard error of a deviation over n elements is 1/sqrt(2n): 0.8 % for 64 x 128, five are allowed.
  CHECK(deviation_of(parameter_called(model, "wte.weight")) == Approx(0.02).epsilon(0.04));
  CHECK(deviation_of(parameter_called(model, "h.3.mlp.c_fc.weight")) == Approx(0.02).epsilon(0.04));
  CHECK(deviation_of(parameter_called(model, "h.3.attn.c_proj.weight")) == Approx(0.02 / 4).epsilon(0.06));
  CHECK(deviation_of(parameter_called(model, "h.3.mlp.c_proj.bias")) == 0);
  CHECK(deviation_of(parameter_called(model, "ln_f.weight")) == 1);
  const autograd::NoGradGuard no_grad;
  const double loss = model.loss(random_tokens({4, 32}, 300, 1), random_tokens({4, 32}, 300, 2)).value().item();
  CHECK(loss == Approx(std::log(300.0)).epsilon(0.02));
}

TEST_CASE("Linear starts within PyTorch's bounds and fills them", "[nn]") {
  const nn::Linear layer(100, 200, 1);
  const Tensor weight = parameter_called(layer, "weight");
  CHECK(weight.shape() == Shape{200, 100});
  const auto [low, high] = std::minmax_element(weight.span<float>().begin(), weight.span<float>().end());
  CHECK((*low >= -0.1F && *low < -0.099F && *high <= 0.1F && *high > 0.099F));
  CHECK(deviation_of(weight) == Approx(0.1 / std::sqrt(3.0)).epsilon(0.02));  // of a uniform distribution
}

TEST_CASE("the whole GPT's gradients are its slopes, dropout included", "[nn]") {
  const nn::Gpt model(small_config(0.2), {3, DType::kFloat64});
  const Tensor inputs = random_tokens({3, 6}, 13, 1), targets = random_tokens({3, 6}, 13, 2);
  const std::array<std::int64_t, 3> samples{5, 17, 2};
  CHECK(gradient_mismatch(
            model.parameters(), [&] { return model.loss(inputs, targets); }, 12) == "");
  const nn::ForwardContext context{true, 1, 4, samples};
  CHECK(gradient_mismatch(
            model.parameters(), [&] { return model.loss(inputs, targets, context); }, 12) == "");
}

TEST_CASE("the whole MLP's gradients are its slopes", "[nn]") {
  const nn::Mlp model(7, 5, 3, {1, DType::kFloat64});
  const Variable inputs(random_tensor({4, 7}, 1));
  const Tensor targets = random_tokens({4}, 3, 2);
  CHECK(gradient_mismatch(model.parameters(),
                          [&] { return autograd::cross_entropy(model.forward(inputs), targets); }) == "");
}

TEST_CASE("dropout depends on seed, step and sample, and not on how a batch is divided", "[nn]") {
  const nn::Gpt model(small_config(0.3), 3);
  const Tensor inputs = random_tokens({2, 6}, 13, 1), targets = random_tokens({2, 6}, 13, 2);
  const std::array<std::int64_t, 2> samples{5, 17}, others{5, 18};
  const autograd::NoGradGuard no_grad;
  const auto loss = [&](std::int64_t begin, std::int64_t end, std::uint64_t seed, std::int64_t step, const auto& ids) {
    const auto own = std::span<const std::int64_t>(ids).subspan(begin, end - begin);
    return model.loss(inputs.rows(begin, end), targets.rows(begin, end), {true, seed, step, own}).value().item();
  };
  const double whole = loss(0, 2, 1, 1, samples);
  CHECK((loss(0, 1, 1, 1, samples) + loss(1, 2, 1, 1, samples)) / 2 == Approx(whole).epsilon(1e-6));
  CHECK(loss(0, 2, 1, 1, samples) == whole);
  CHECK(loss(0, 2, 2, 1, samples) != whole);
  CHECK(loss(0, 2, 1, 2, samples) != whole);
  CHECK(loss(0, 2, 1, 1, others) != whole);
  CHECK(model.loss(inputs, targets).value().item() != whole);
}

TEST_CASE("a GPT refuses what it cannot compute", "[nn]") {
  CHECK_THROWS_AS(nn::Gpt({"odd", 13, 9, 2, 2, 6}, 1), ContractError);
  CHECK_THROWS_AS(nn::Gpt({"none", 13, 8, 2, 0, 6}, 1), ContractError);
  const nn::Gpt model(small_config(), 1);
  CHECK_THROWS_AS(model.logits(random_tokens({1, 7}, 13, 1)), ContractError);
  CHECK_THROWS_AS(model.loss(random_tokens({1, 6}, 13, 1), random_tokens({1, 5}, 13, 1)), ContractError);
}

TEST_CASE("matrices decay, biases and norms do not", "[nn]") {
  const nn::Gpt model(small_config(), 1);
  const auto groups = nn::weight_decay_groups(model, 0.1);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].weight_decay == 0.1);
  CHECK(groups[1].weight_decay == 0);
  CHECK(groups[0].parameters.size() == 2 + 2 * 4);
  CHECK(groups[1].parameters.size() == 2 * 8 + 2);
  for (const auto& named : groups[1].parameters) CHECK(named.parameter.value().shape().rank() == 1);
}

TEST_CASE("a tied parameter is listed once, under its first name, and a name is taken once", "[nn]") {
  class Tied : public nn::Module {
   public:
    Tied() : first_(2, 3, 1) {
      register_module("first", first_);
      register_tied_parameter("again", first_.parameters()[0]);
    }
    void register_again() { register_module("first", first_); }

   private:
    nn::Linear first_;
  };
  Tied module;
  CHECK(names_of(module) == std::vector<std::string>{"first.weight", "first.bias"});
  CHECK_THROWS_AS(module.register_again(), ContractError);
}

namespace {

// Two layers, the second of which is not registered.
class Forgetful : public nn::Module {
 public:
  Forgetful() : first_(child<nn::Linear>("first", 4, 4, nn::InitScope(1))) {}
  [[nodiscard]] Variable loss() const {
    const Variable x(random_tensor({2, 4}, 1, DType::kFloat32));
    return autograd::mse_loss(second_.forward(first_.forward(x)), Tensor::zeros({2, 4}));
  }
  void remember() { register_module("second", second_); }

 private:
  nn::Linear& first_;
  nn::Linear second_{4, 4, 2};
};

}  // namespace

TEST_CASE("a layer that was not registered does not go untrained in silence", "[nn]") {
  Forgetful model;
  CHECK_NOTHROW(model.loss().backward());  // somebody may look at gradients of modules that are not trained
  const auto trained = nn::all_parameters(model);
  CHECK_THROWS_WITH(model.loss().backward(), ContainsSubstring("depends on parameter weight [4, 4]"));
  {
    const autograd::NoGradGuard no_grad;
    CHECK_NOTHROW(model.loss());
  }
  model.remember();
  CHECK_THROWS_AS(model.loss().backward(), ContractError);  // the list is from before
  CHECK(nn::all_parameters(model).parameters.size() == 4);
  CHECK_NOTHROW(model.loss().backward());
}

TEST_CASE("a child that a module makes has its name, its initial values and its parent's life", "[nn]") {
  class Parent : public nn::Module {
   public:
    explicit Parent(const nn::InitScope& scope) : layer(child<nn::Linear>("layer", 3, 2, scope)) {
      child<nn::LayerNorm>("norm", 2, scope, 1e-3);
    }
    void again() { child<nn::Linear>("layer", 3, 2, 1); }
    nn::Linear& layer;
  };
  Parent parent(7);
  CHECK(names_of(parent) == std::vector<std::string>{"layer.weight", "layer.bias", "norm.weight", "norm.bias"});
  CHECK(parent.layer.parameters()[0].name() == "layer.weight");
  CHECK(values_of(parent.layer) == values_of(nn::Linear(3, 2, nn::InitScope(7).child("layer"))));
  CHECK_THROWS_AS(parent.again(), ContractError);
  CHECK(names_of(parent).size() == 4);
}

TEST_CASE("a training step frees what it took, and takes it from the cache", "[nn]") {
  const nn::Gpt model(small_config(), 1);
  const Tensor inputs = random_tokens({3, 6}, 13, 1), targets = random_tokens({3, 6}, 13, 2);
  const auto step = [&] { model.loss(inputs, targets).backward(); };
  step();
  step();
  const AllocatorStatistics before = allocator_statistics();
  step();
  const AllocatorStatistics after = allocator_statistics();
  CHECK(after.bytes_in_use == before.bytes_in_use);
  CHECK(after.system_allocations == before.system_allocations);
}
