// Parameters that are not trained, values without gradients, and several observers of one parameter.
#include <array>
#include <string>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/checkpoint.hpp"
#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::any_loss;
using lockstep::test::elements_of;
using lockstep::test::gradient_mismatch;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;

namespace {

// Writes "<own name> <parameter>" and "<own name> end" into a list that all of them share.
class Named : public GradientObserver {
 public:
  Named(std::string name, std::vector<std::string>& events) : name_(std::move(name)), events_(events) {}
  void on_gradient_ready(Variable& parameter) override { events_.push_back(name_ + " " + parameter.name()); }
  void on_backward_end() override { events_.push_back(name_ + " end"); }

 private:
  std::string name_;
  std::vector<std::string>& events_;
};

}  // namespace

TEST_CASE("a frozen parameter gets no gradient, and the others get theirs", "[autograd]") {
  const Variable x = random_parameter({2, 6}, 1, "x"), w = random_parameter({6, 6}, 2, "w"),
                 b = random_parameter({6}, 3, "b"), gain = random_parameter({6}, 4, "gain");
  const auto loss = [&] { return any_loss(layer_norm(rms_norm(linear(gelu(x), w, b), gain, 1e-5), gain, b, 1e-5)); };
  const std::vector<Variable> all{x, w, b, gain};
  for (const Variable& frozen : all) {
    INFO(frozen.name());
    frozen.set_requires_grad(false);
    CHECK_FALSE(frozen.requires_grad());
    CHECK(frozen.is_parameter());
    std::vector<Variable> others;
    for (const Variable& parameter : all) {
      if (!parameter.is_same(frozen)) others.push_back(parameter);
    }
    CHECK(gradient_mismatch(others, loss) == "");
    CHECK_FALSE(frozen.has_gradient());
    frozen.set_requires_grad(true);
    CHECK(gradient_mismatch(all, loss) == "");
  }
}

TEST_CASE("no operation writes its result into a frozen parameter's memory", "[autograd]") {
  const Variable w = random_parameter({2, 6}, 1, "w"), gain = random_parameter({6}, 2, "gain");
  w.set_requires_grad(false);
  const std::vector<double> before = elements_of(w.value());
  (void)relu(w);
  (void)add(w, w);
  (void)exp(w);
  (void)mul(w, 2.0);
  (void)add_layer_norm(Variable(random_tensor({2, 6}, 3)), w, gain, gain, 1e-5);
  (void)cross_entropy(w, test::random_tokens({2}, 6, 1));
  CHECK(elements_of(w.value()) == before);
}

TEST_CASE("nothing is recorded where every parameter is frozen", "[autograd]") {
  const Variable x = random_parameter({2, 6}, 1, "x"), w = random_parameter({6, 6}, 2, "w");
  for (const Variable& parameter : {x, w}) parameter.set_requires_grad(false);
  CHECK_FALSE(linear(x, w, {}).requires_grad());
  const auto twice = [&](std::span<const Variable> in) { return std::vector{linear(linear(in[0], w, {}), w, {})}; };
  CHECK_FALSE(checkpoint(twice, {x}).front().requires_grad());
  CHECK_THROWS_AS(any_loss(linear(x, w, {})).backward(), ContractError);
}

TEST_CASE("freezing forgets what was accumulated, and is not for between forward and backward", "[autograd]") {
  const Variable x = random_parameter({2, 6}, 1, "x"), w = random_parameter({6, 6}, 2, "w");
  any_loss(linear(x, w, {})).backward();
  CHECK(w.has_gradient());
  const Variable loss = any_loss(linear(x, w, {}));
  w.set_requires_grad(false);
  CHECK_FALSE(w.has_gradient());
  CHECK_THROWS_WITH(loss.backward(), ContainsSubstring("w was frozen between forward and backward"));
  CHECK_THROWS_AS(linear(x, w, {}).set_requires_grad(false), ContractError);
}

TEST_CASE("a frozen weight's rounded copy is made once", "[autograd]") {
  const Variable x(random_tensor({2, 6}, 1, DType::kFloat32));
  const Variable w = Variable::parameter(random_tensor({6, 6}, 2, DType::kFloat32), "w");
  w.set_requires_grad(false);
  const Autocast autocast(true);
  (void)linear(x, w, {});
  const void* const rounded = weight_for_product(w, DType::kBFloat16).const_data();
  (void)linear(x, w, {});
  CHECK(weight_for_product(w, DType::kBFloat16).const_data() == rounded);
}

TEST_CASE("detach gives the same elements and lets no gradient through", "[autograd]") {
  const Variable x = random_parameter({2, 6}, 1, "x"), w = random_parameter({6, 6}, 2, "w");
  const Variable hidden = linear(x, w, {}), cut = hidden.detach();
  CHECK_FALSE(cut.requires_grad());
  CHECK(cut.value().data() == hidden.value().data());
  any_loss(mul(linear(x, w, {}), cut)).backward();  // as if `cut` were data
  const std::vector<double> with_cut = elements_of(w.gradient());
  w.zero_grad();
  any_loss(mul(linear(x, w, {}), Variable(hidden.value().clone()))).backward();
  CHECK(elements_of(w.gradient()) == with_cut);
  CHECK(w.detach().value().data() == w.value().data());
  CHECK_FALSE(w.detach().is_parameter());
}

TEST_CASE("observers of one parameter are all told, in the order in which they were added", "[autograd]") {
  const Variable x(random_tensor({2, 6}, 1)), w = random_parameter({6, 6}, 2, "w"),
                                              v = random_parameter({6, 6}, 3, "v");
  std::vector<std::string> events;
  Named first("first", events), second("second", events);
  w.add_observer(&first);
  w.add_observer(&second);
  v.add_observer(&second);
  CHECK(w.observers().size() == 2);
  const auto run = [&] {
    events.clear();
    any_loss(linear(linear(x, w, {}), v, {})).backward();
    return events;
  };
  CHECK(run() == std::vector<std::string>{"second v", "first w", "second w", "second end", "first end"});
  w.remove_observer(&first);
  w.remove_observer(&first);
  CHECK(run() == std::vector<std::string>{"second v", "second w", "second end"});
  CHECK_THROWS_AS(w.add_observer(&second), ContractError);
  CHECK_THROWS_AS(w.add_observer(nullptr), ContractError);
  CHECK_THROWS_AS(linear(x, w, {}).add_observer(&first), ContractError);
  CHECK(x.observers().empty());
}

TEST_CASE("a parameter moves to a device with its gradient, and is trained there", "[autograd][gpu]") {
  const Device device = test::accelerator();
  const Variable w = Variable::parameter(random_tensor({6, 6}, 2, DType::kFloat32), "w");
  const Tensor x = random_tensor({2, 6}, 1, DType::kFloat32), target = random_tensor({2, 6}, 3, DType::kFloat32);
  mse_loss(linear(Variable(x), w, {}), target).backward();
  const Tensor value = w.value(), gradient = w.gradient();
  w.move_to(device);
  CHECK(w.value().device() == device);
  CHECK(w.gradient().device() == device);
  const auto equal = [](const Tensor& a, const Tensor& b) {
    const Tensor left = a.to(Device{}), right = b.to(Device{});
    return std::ranges::equal(left.span<float>(), right.span<float>());
  };
  CHECK(equal(w.value(), value));
  CHECK(equal(w.gradient(), gradient));
  mse_loss(linear(Variable(x.to(device)), w, {}), target.to(device)).backward();  // adds, there
  CHECK(w.gradient().device() == device);
  CHECK_FALSE(equal(w.gradient(), gradient));

  std::vector<std::string> events;
  Named observer("observer", events);
  w.add_observer(&observer);
  CHECK_THROWS_WITH(w.move_to(Device{}), ContainsSubstring("move the model before it is wrapped"));
}
