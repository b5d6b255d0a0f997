// Values and gradients that are released and come back.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/checkpoint.hpp"
#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/node.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "device/storage.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using Catch::Matchers::ContainsSubstring;
using lockstep::test::random_tensor;
using lockstep::test::random_tokens;

namespace {

constexpr std::int64_t kWidth = 64;

Variable make_parameter(const Shape& shape, std::uint64_t seed, std::string name) {
  return Variable::parameter(random_tensor(shape, seed, DType::kFloat32), std::move(name));
}

bool has_same_bits(const Tensor& a, const Tensor& b) {
  const auto left = a.span<float>(), right = b.span<float>();
  return std::ranges::equal(left, right);
}

// Keeps the elements of parameters outside of the allocator that the tests measure, and brings back copies of them.
class Archive : public ValueSource {
 public:
  explicit Archive(std::vector<Variable> parameters) : parameters_(std::move(parameters)) {
    for (const Variable& parameter : parameters_) {
      const auto elements = parameter.value().span<float>();
      stored_[parameter.name()].assign(elements.begin(), elements.end());
      parameter.set_value_source(this);
    }
  }

  void fetch(Variable& parameter) override {
    ++fetches[parameter.name()];
    if (keeps_only_newest) release_all();
    parameter.adopt_value(Tensor::from<float>(stored_.at(parameter.name()), parameter.shape()));
  }

  void release_all() const {
    for (const Variable& parameter : parameters_) (void)parameter.release_value();
  }

  bool keeps_only_newest = false;
  std::map<std::string, int> fetches;

 private:
  std::vector<Variable> parameters_;
  std::map<std::string, std::vector<float>> stored_;
};

// Every operation that reads a parameter in backward: embedding, norms, all three layers, the head.
struct Model {
  Variable table = make_parameter({11, kWidth}, 1, "table");
  Variable positions = make_parameter({6, kWidth}, 2, "positions");
  Variable gain = make_parameter({kWidth}, 3, "gain"), shift = make_parameter({kWidth}, 4, "shift");
  Variable wide = make_parameter({kWidth, 2 * kWidth}, 5, "wide");
  Variable wide_bias = make_parameter({2 * kWidth}, 6, "wide_bias");
  Variable narrow = make_parameter({2 * kWidth, kWidth}, 7, "narrow");
  Variable narrow_bias = make_parameter({kWidth}, 8, "narrow_bias");
  Variable square = make_parameter({kWidth, kWidth}, 9, "square");
  Variable scale = make_parameter({kWidth}, 10, "scale");
  Tensor tokens = random_tokens({2, 6}, 11, 12);

  [[nodiscard]] std::vector<Variable> parameters() const {
    return {table, positions, gain, shift, wide, wide_bias, narrow, narrow_bias, square, scale};
  }

  [[nodiscard]] Variable loss(bool is_checkpointed = false) const {
    const Variable embedded = embedding(tokens, table, positions);
    const auto block = [this](std::span<const Variable> x) {
      const ResidualNorm normed = add_layer_norm(x[0], mul(x[0], 0.5), gain, shift, 1e-5);
      const Variable mlp = gelu_conv1d(conv1d(normed.normalized, wide, wide_bias), narrow, narrow_bias);
      const Variable last = linear(rms_norm(add(mlp, normed.sum), scale, 1e-5), square, {});
      return std::vector{layer_norm(mul(last, scale), gain, shift, 1e-5)};
    };
    const std::vector<Variable> inputs{embedded};
    const Variable hidden = is_checkpointed ? checkpoint(block, inputs)[0] : block(inputs)[0];
    return head_cross_entropy(hidden, table, tokens);
  }

  [[nodiscard]] std::vector<Tensor> gradients() const {
    std::vector<Tensor> all;
    for (const Variable& parameter : parameters()) all.push_back(parameter.gradient().clone());
    return all;
  }
};

void check_same_gradients(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(has_same_bits(got[i], wanted[i]));
  }
}

// Gives each gradient a place in one storage, and counts how often it is asked.
class Placer : public GradientObserver {
 public:
  explicit Placer(Tensor place) : place_(std::move(place)) {}
  void on_gradient_ready(Variable& parameter) override { ready.push_back(parameter.name()); }
  void on_backward_end() override {}
  Tensor place_gradient(Variable& /*parameter*/) override {
    ++asked;
    return place_;
  }

  int asked = 0;
  std::vector<std::string> ready;

 private:
  Tensor place_;
};

}  // namespace

TEST_CASE("a released value is fetched when it is asked for, and only then", "[autograd][release]") {
  const Variable weight = make_parameter({3, 4}, 1, "h.2.weight");
  const Tensor before = weight.value().clone();
  Archive archive({weight});
  CHECK(weight.has_value());
  (void)weight.release_value();
  CHECK_FALSE(weight.has_value());
  CHECK(weight.shape() == Shape{3, 4});
  CHECK(weight.dtype() == DType::kFloat32);
  CHECK(weight.device() == Device{});
  CHECK(archive.fetches.empty());

  CHECK(has_same_bits(weight.value(), before));
  (void)weight.value();
  CHECK(archive.fetches["h.2.weight"] == 1);
  (void)weight.release_value();
  (void)weight.value();
  CHECK(archive.fetches["h.2.weight"] == 2);
}

TEST_CASE("a released value that nobody brings back is an error that names the parameter", "[autograd][release]") {
  struct Forgetful : ValueSource {
    void fetch(Variable& /*parameter*/) override {}
  } forgetful;
  const Variable weight = make_parameter({3, 4}, 1, "h.2.weight");
  (void)weight.release_value();
  CHECK_THROWS_WITH(weight.value(), ContainsSubstring("h.2.weight") && ContainsSubstring("released"));
  CHECK_THROWS_WITH(weight.rebind_value(Tensor::empty({3, 4})), ContainsSubstring("h.2.weight"));
  weight.set_value_source(&forgetful);
  CHECK_THROWS_WITH(weight.value(), ContainsSubstring("h.2.weight") && ContainsSubstring("fetched nothing"));

  CHECK_THROWS_WITH(weight.adopt_value(Tensor::empty({4, 3})),
                    ContainsSubstring("h.2.weight") && ContainsSubstring("[4, 3]"));
  CHECK_THROWS_AS(weight.adopt_value(Tensor::empty({3, 4}, DType::kFloat64)), ContractError);
  const Tensor elements = random_tensor({3, 4}, 2, DType::kFloat32);
  weight.adopt_value(elements);
  CHECK(weight.value().const_data() == elements.const_data());
  CHECK_THROWS_AS(linear(Variable(elements), weight, {}).release_value(), ContractError);
}

TEST_CASE("who releases a value learns whether somebody still refers to it", "[autograd][release]") {
  const Variable weight = make_parameter({3, 4}, 1, "weight");
  const Variable view = reshape(weight, {12});
  CHECK_FALSE(is_exclusive(weight.release_value()));
  weight.adopt_value(random_tensor({3, 4}, 2, DType::kFloat32));
  CHECK(is_exclusive(weight.release_value()));
  CHECK_FALSE(weight.release_value().is_defined());
}

TEST_CASE("between forward and backward a layer's weight takes no memory", "[autograd][release]") {
  const bool is_bfloat16 = GENERATE(false, true);
  const auto layer = GENERATE(0, 1, 2);
  const Autocast autocast(is_bfloat16);
  constexpr std::int64_t kSide = 256;
  const Variable weight = make_parameter({kSide, kSide}, 1, "weight");
  const Variable input = make_parameter({2, kSide}, 2, "input");
  const auto loss = [&] {
    const Variable x = mul(input, 1.0);
    const Variable y = layer == 0   ? linear(x, weight, {})
                       : layer == 1 ? conv1d(x, weight, {})
                                    : gelu_conv1d(x, weight, {});
    return mse_loss(y, Tensor::zeros({2, kSide}));
  };
  loss().backward();
  const Tensor weight_gradient = weight.gradient().clone(), input_gradient = input.gradient().clone();
  weight.zero_grad();
  input.zero_grad();

  Archive archive({weight});
  (void)weight.release_value();
  const std::size_t without = allocator_statistics().bytes_in_use;
  const Variable again = loss();
  CHECK(archive.fetches["weight"] == 1);
  const std::size_t with = allocator_statistics().bytes_in_use;
  (void)weight.release_value();
  const auto weight_bytes = static_cast<std::size_t>(kSide * kSide) * sizeof(float);
  const std::size_t kept = is_bfloat16 ? weight_bytes * 3 / 2 : weight_bytes;  // autocast's copy goes too
  CHECK(with - allocator_statistics().bytes_in_use == kept);
  CHECK(allocator_statistics().bytes_in_use - without < weight_bytes / 8);  // activations

  again.backward();
  CHECK(archive.fetches["weight"] == 2);
  CHECK(has_same_bits(weight.gradient(), weight_gradient));
  CHECK(has_same_bits(input.gradient(), input_gradient));
}

TEST_CASE("gradients are the same where every value is released after forward", "[autograd][release]") {
  const bool is_bfloat16 = GENERATE(false, true);
  const bool is_checkpointed = GENERATE(false, true);
  const Autocast autocast(is_bfloat16);
  const Model model;
  const Variable loss = model.loss(is_checkpointed);
  loss.backward();
  const std::vector<Tensor> wanted = model.gradients();

  for (const bool keeps_only_newest : {false, true}) {
    Archive archive(model.parameters());
    archive.keeps_only_newest = keeps_only_newest;
    for (const Variable& parameter : model.parameters()) parameter.zero_grad();
    archive.release_all();
    const Variable again = model.loss(is_checkpointed);
    CHECK(again.value().item() == loss.value().item());
    archive.release_all();
    again.backward();
    check_same_gradients(model.gradients(), wanted);
    archive.keeps_only_newest = false;
    for (const Variable& parameter : model.parameters()) {
      (void)parameter.value();  // for the next archive
      parameter.set_value_source(nullptr);
    }
  }
}

TEST_CASE("a released gradient begins anew, and an adopted one is added to", "[autograd][release]") {
  const Variable weight = make_parameter({3, 4}, 1, "weight");
  const Variable input(random_tensor({2, 4}, 2, DType::kFloat32));
  const auto backward = [&] { mse_loss(linear(input, weight, {}), Tensor::zeros({2, 3})).backward(); };
  backward();
  const Tensor once = weight.gradient().clone();
  backward();
  const Tensor twice = weight.gradient().clone();

  const Tensor released = weight.release_gradient();
  CHECK(is_exclusive(released));
  CHECK(has_same_bits(released, twice));
  CHECK_FALSE(weight.has_gradient());
  backward();
  CHECK(weight.gradient().const_data() != released.const_data());
  CHECK(has_same_bits(weight.gradient(), once));

  const Tensor mine = once.clone();
  (void)weight.release_gradient();
  weight.adopt_gradient(mine);
  CHECK(weight.gradient().const_data() == mine.const_data());
  backward();
  CHECK(has_same_bits(mine, twice));
  CHECK_THROWS_WITH(weight.adopt_gradient(Tensor::empty({4, 3})), ContainsSubstring("weight"));
  weight.set_requires_grad(false);
  CHECK_THROWS_WITH(weight.adopt_gradient(mine), ContainsSubstring("frozen"));
}

TEST_CASE("an observer may take a gradient away as soon as it is complete, and not before", "[autograd][release]") {
  struct Taker : GradientObserver {
    void on_gradient_ready(Variable& parameter) override {
      taken.push_back(parameter.release_gradient());
      if (other.is_defined()) CHECK_THROWS_WITH(other.release_gradient(), ContainsSubstring("before backward()"));
      other = Variable();
    }
    void on_backward_end() override {}
    std::vector<Tensor> taken;
    Variable other;
  } taker;
  const Variable first = make_parameter({4, 4}, 1, "first"), second = make_parameter({4, 4}, 2, "second");
  const Variable input(random_tensor({2, 4}, 3, DType::kFloat32));
  const auto loss = [&] { return mse_loss(linear(linear(input, first, {}), second, {}), Tensor::zeros({2, 4})); };
  loss().backward();
  const Tensor wanted_first = first.gradient().clone(), wanted_second = second.gradient().clone();
  for (const Variable& parameter : {first, second}) {
    parameter.zero_grad();
    parameter.add_observer(&taker);
  }
  taker.other = first;  // when the second is complete, the first is not
  loss().backward();
  REQUIRE(taker.taken.size() == 2);
  CHECK(has_same_bits(taker.taken[0], wanted_second));
  CHECK(has_same_bits(taker.taken[1], wanted_first));
  CHECK_FALSE(first.has_gradient());
}

TEST_CASE("an observer places the gradients of a parameter that has no place for them", "[autograd][release]") {
  const Tensor place = Tensor::empty({7, 4});
  Placer placer(place);
  const Variable table = make_parameter({7, 4}, 1, "table");
  const Tensor tokens = random_tokens({2, 5}, 7, 2);
  const Variable hidden(random_tensor({2, 5, 4}, 3, DType::kFloat32));
  // The two ways in which a gradient is written: by the kernel in its place, and as a tensor that is handed over.
  const auto loss = [&] { return head_cross_entropy(hidden, mul(table, 1.0), tokens); };
  loss().backward();
  const Tensor wanted = table.gradient().clone();

  (void)table.release_gradient();
  table.add_observer(&placer);
  loss().backward();
  CHECK(placer.asked == 1);
  CHECK(table.gradient().const_data() == place.const_data());
  CHECK(has_same_bits(table.gradient(), wanted));
  table.zero_grad();
  loss().backward();  // in the same place, without being asked
  CHECK(placer.asked == 1);

  (void)table.release_gradient();
  head_cross_entropy(hidden, table, tokens).backward();
  CHECK(placer.asked == 2);
  CHECK(table.gradient().const_data() == place.const_data());
  CHECK(has_same_bits(table.gradient(), wanted));

  (void)table.release_gradient();
  const auto loan = borrow_gradient(table);
  CHECK(loan->tensor.const_data() == place.const_data());

  Placer wrong(Tensor::empty({4, 7}));
  (void)table.release_gradient();
  table.remove_observer(&placer);
  table.add_observer(&wrong);
  CHECK_THROWS_WITH(loss().backward(), ContainsSubstring("table") && ContainsSubstring("[4, 7]"));
}
