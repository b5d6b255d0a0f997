// The contract between the tape and the observers of gradients.
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/node.hpp"
#include "autograd/primitives.hpp"
#include "autograd/variable.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;

namespace {

// Writes down what it is told; throws at `throw_at` if that is not empty.
class Recorder : public GradientObserver {
 public:
  void on_gradient_ready(Variable& parameter) override {
    events.push_back(parameter.name());
    gradients.push_back(parameter.gradient().clone());
    if (parameter.name() == throw_at) throw Error("observer stops at " + throw_at);
  }
  void on_backward_end() override { events.emplace_back("end"); }

  std::vector<std::string> events;
  std::vector<Tensor> gradients;
  std::string throw_at;
};

// A chain of two layers; `second` may be the same weight as `first`.
struct Chain {
  Variable x{random_tensor({3, 4}, 1)};
  Variable first = random_parameter({4, 4}, 2, "first");
  Variable second = random_parameter({4, 4}, 3, "second");
  Recorder recorder;

  Chain() {
    first.add_observer(&recorder);
    second.add_observer(&recorder);
  }
  [[nodiscard]] Variable loss(const Variable& a, const Variable& b) const {
    return mse_loss(linear(gelu(linear(x, a, {})), b, {}), random_tensor({3, 4}, 4));
  }
};

std::vector<double> elements(const Tensor& tensor) {
  return {tensor.span<double>().begin(), tensor.span<double>().end()};
}

}  // namespace

TEST_CASE("parameters become ready in reverse order of use, each once, then backward ends", "[autograd]") {
  Chain chain;
  chain.loss(chain.first, chain.second).backward();
  CHECK(chain.recorder.events == std::vector<std::string>{"second", "first", "end"});
}

TEST_CASE("a tied weight gets two contributions and one call, after the last", "[autograd]") {
  Chain chain;
  chain.loss(chain.first, chain.first).backward();
  CHECK(chain.recorder.events == std::vector<std::string>{"first", "end"});
  CHECK(elements(chain.recorder.gradients[0]) == elements(chain.first.gradient()));
}

TEST_CASE("a parameter that the loss does not depend on is not reported", "[autograd]") {
  Chain chain;
  mse_loss(linear(chain.x, chain.first, {}), random_tensor({3, 4}, 4)).backward();
  CHECK(chain.recorder.events == std::vector<std::string>{"first", "end"});
  CHECK_FALSE(chain.second.has_gradient());
}

TEST_CASE("a removed observer hears nothing", "[autograd]") {
  Chain chain;
  chain.first.remove_observer(&chain.recorder);
  chain.second.remove_observer(&chain.recorder);
  chain.loss(chain.first, chain.second).backward();
  CHECK(chain.recorder.events.empty());
}

TEST_CASE("an observer's exception comes out of backward, and the next backward works", "[autograd]") {
  Chain chain;
  chain.recorder.throw_at = "second";
  CHECK_THROWS_WITH(chain.loss(chain.first, chain.second).backward(), ContainsSubstring("stops at second"));
  CHECK(chain.recorder.events == std::vector<std::string>{"second"});

  chain.recorder.throw_at.clear();
  chain.recorder.events.clear();
  chain.first.zero_grad();
  chain.second.zero_grad();
  chain.loss(chain.first, chain.second).backward();
  CHECK(chain.recorder.events == std::vector<std::string>{"second", "first", "end"});
  CHECK(test::gradient_mismatch({chain.first, chain.second}, [&] {
          return chain.loss(chain.first, chain.second);
        }).empty());
}

TEST_CASE("several backwards add up until zero_grad, and each reports", "[autograd]") {
  Chain chain;
  chain.loss(chain.first, chain.second).backward(0.5);
  const std::vector<double> half = elements(chain.first.gradient());
  chain.loss(chain.first, chain.second).backward(0.5);
  const std::vector<double> whole = elements(chain.first.gradient());
  for (std::size_t i = 0; i < half.size(); ++i) CHECK(whole[i] == Approx(2 * half[i]).epsilon(1e-14));
  CHECK(chain.recorder.events.size() == 6);

  chain.first.zero_grad();
  CHECK_FALSE(chain.first.has_gradient());
  CHECK_THROWS_AS(chain.first.gradient(), ContractError);
  chain.loss(chain.first, chain.second).backward(0.5);
  CHECK(elements(chain.first.gradient()) == half);  // the first write overwrites
}

TEST_CASE("the first contribution overwrites whatever the storage holds", "[autograd]") {
  Chain chain;
  const Tensor storage = random_tensor({4, 4}, 77);
  chain.first.rebind_gradient(storage);
  CHECK_FALSE(chain.first.has_gradient());
  chain.loss(chain.first, chain.second).backward();
  CHECK(chain.first.gradient().data() == storage.data());
  CHECK(test::gradient_mismatch({chain.first}, [&] { return chain.loss(chain.first, chain.second); }).empty());
}

TEST_CASE("values and gradients move to other storage and keep their elements", "[autograd]") {
  Chain chain;
  chain.loss(chain.first, chain.second).backward();
  const std::vector<double> value = elements(chain.first.value()), gradient = elements(chain.first.gradient());
  const Tensor bucket = random_tensor({2, 4, 4}, 5);
  const Tensor value_view = bucket.rows(0, 1).reshape({4, 4}), gradient_view = bucket.rows(1, 2).reshape({4, 4});
  chain.first.rebind_value(value_view);
  chain.first.rebind_gradient(gradient_view);
  CHECK(chain.first.value().data() == value_view.data());
  CHECK(elements(chain.first.value()) == value);
  CHECK(elements(gradient_view) == gradient);

  chain.loss(chain.first, chain.second).backward();  // adds, in the new place
  for (std::size_t i = 0; i < 16; ++i) CHECK(gradient_view.span<double>()[i] == Approx(2 * gradient[i]).epsilon(1e-14));
  CHECK_THROWS_AS(chain.first.rebind_value(random_tensor({4, 5}, 1)), ContractError);
  CHECK_THROWS_AS(chain.first.rebind_gradient(random_tensor({4, 4}, 1, DType::kFloat32)), ContractError);
}

TEST_CASE("a value rebound between forward and backward is read where it lives", "[autograd]") {
  Chain chain;
  const Variable loss = chain.loss(chain.first, chain.second);
  chain.second.rebind_value(Tensor::empty({4, 4}, DType::kFloat64));
  loss.backward();
  CHECK(test::gradient_mismatch({chain.first, chain.second}, [&] {
          return chain.loss(chain.first, chain.second);
        }).empty());
}

TEST_CASE("backward is called once per graph, on one element, on something recorded", "[autograd]") {
  Chain chain;
  const Variable loss = chain.loss(chain.first, chain.second);
  loss.backward();
  CHECK_THROWS_WITH(loss.backward(), ContainsSubstring("twice"));
  CHECK_THROWS_WITH(linear(chain.x, chain.first, {}).backward(), ContainsSubstring("[3, 4]"));
  CHECK_THROWS_AS(mse_loss(chain.x, random_tensor({3, 4}, 4)).backward(), ContractError);
  CHECK_THROWS_AS(Variable().value(), ContractError);
}

TEST_CASE("a gradient from outside for something that needs none is an error", "[autograd]") {
  Chain chain;
  const Variable computed = linear(chain.x, chain.first, {});
  const auto start_from_both = [&] {
    std::vector<GradientStart> starts;
    starts.push_back({computed, Tensor::zeros({3, 4}, computed.dtype())});
    starts.push_back({chain.x, Tensor::zeros(chain.x.shape(), chain.x.dtype())});
    backward_from(std::move(starts));
  };
  CHECK_THROWS_WITH(start_from_both(), ContainsSubstring("depends on no parameter"));
  CHECK_FALSE(chain.first.has_gradient());
}

TEST_CASE("an operation that gives an input a gradient of another type or size is told so", "[autograd]") {
  const Variable x = Variable::parameter(random_tensor({2, 3}, 1), "x");
  const auto with_gradient = [&](const Tensor& d_x) {
    const Variable y = mul(x, 1.0);
    return sum(record(y.value().clone(), {y}, [y, d_x](const Tensor&) { y.accumulate_gradient(d_x); }));
  };
  const auto message = [](const std::string& given) {
    return ContainsSubstring("a gradient of " + given + " for a value of float64 [2, 3]");
  };
  CHECK_THROWS_WITH(with_gradient(Tensor::zeros({2, 3})).backward(), message("float32 [2, 3]"));
  CHECK_THROWS_WITH(with_gradient(Tensor::zeros({7}, DType::kFloat64)).backward(), message("float64 [7]"));
}

TEST_CASE("nothing is recorded while gradients are off", "[autograd]") {
  Chain chain;
  {
    const NoGradGuard no_grad;
    const NoGradGuard nested;
    CHECK_FALSE(is_grad_enabled());
    const Variable loss = chain.loss(chain.first, chain.second);
    CHECK_FALSE(loss.requires_grad());
    CHECK_THROWS_AS(loss.backward(), ContractError);
  }
  CHECK(is_grad_enabled());
  CHECK(chain.loss(chain.first, chain.second).requires_grad());
}

TEST_CASE("backward frees activations as it walks, and leaves only gradients", "[autograd]") {
  Chain chain;
  chain.first.remove_observer(&chain.recorder);  // the recorder keeps copies
  chain.second.remove_observer(&chain.recorder);
  chain.loss(chain.first, chain.second).backward();  // makes the gradients' storage
  const std::size_t before = allocator_statistics().bytes_in_use;
  Variable loss = chain.loss(chain.first, chain.second);
  CHECK(allocator_statistics().bytes_in_use > before);
  std::weak_ptr<Storage> activation;
  {
    const Variable hidden = gelu(linear(chain.x, chain.first, {}));
    activation = hidden.value().storage();
    loss = mse_loss(linear(hidden, chain.second, {}), random_tensor({3, 4}, 4));
  }
  CHECK_FALSE(activation.expired());
  loss.backward();
  CHECK(activation.expired());
  loss = Variable();
  CHECK(allocator_statistics().bytes_in_use == before);
}

TEST_CASE("an operation moved its input in reuses the memory, and leaves held values alone", "[autograd]") {
  Chain chain;
  Variable hidden = linear(chain.x, chain.first, {});
  const std::vector<double> held = elements(hidden.value());
  const Variable copied = relu(hidden);
  CHECK(elements(hidden.value()) == held);
  const void* memory = hidden.value().data();
  const Variable moved = relu(std::move(hidden));
  CHECK(moved.value().data() == memory);
  CHECK(elements(moved.value()) == elements(copied.value()));
}

TEST_CASE("cross_entropy leaves logits alone that somebody holds, and reuses those that nobody does", "[autograd]") {
  Chain chain;
  const Tensor targets = test::random_tokens({3}, 4, 1);
  Variable logits = linear(chain.x, chain.first, {});
  const std::vector<double> held = elements(logits.value());
  (void)cross_entropy(logits, targets);
  CHECK(elements(logits.value()) == held);
  const std::size_t before = allocator_statistics().bytes_in_use;
  const Variable loss = cross_entropy(std::move(logits), targets);
  CHECK(allocator_statistics().bytes_in_use < before + 3 * 4 * sizeof(double));
}

TEST_CASE("a graph that backward never walks is freed, however deep it is", "[autograd][memory]") {
  const Variable weight = Variable::parameter(Tensor::zeros({1}), "weight");
  Variable total = add(weight, weight);
  const std::weak_ptr<Variable::Node> first = total.node();
  for (int i = 0; i < 200'000; ++i) total = add(total, weight);
  CHECK_FALSE(first.expired());
  total = Variable();
  CHECK(first.expired());
}

TEST_CASE("what others hold of a graph stays, and can be walked", "[autograd][memory]") {
  const Variable weight = Variable::parameter(Tensor::zeros({1}), "weight");
  const Variable shared = mul(weight, weight);
  { const Variable dropped = add(mul(shared, shared), shared); }
  sum(shared).backward();
  CHECK(weight.has_gradient());
}
