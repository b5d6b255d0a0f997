// gradcheck() accepts right gradients and names the element of a wrong one.
#include "autograd/gradcheck.hpp"

#include <array>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/gradient_check.hpp"
#include "autograd/node.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;

namespace {

Variable square(const Variable& x) {
  const Tensor squares = Tensor::empty(x.shape(), DType::kFloat64);
  for (std::size_t i = 0; i < squares.span<double>().size(); ++i)
    squares.span<double>()[i] = x.value().span<double>()[i] * x.value().span<double>()[i];
  return record(squares, {x}, [x](Tensor gradient) {
    const Tensor d_x = Tensor::empty(x.shape(), DType::kFloat64);
    for (std::size_t i = 0; i < d_x.span<double>().size(); ++i)
      d_x.span<double>()[i] = 2 * x.value().span<double>()[i] * gradient.span<double>()[i];
    x.accumulate_gradient(d_x);
  });
}

// x, whose backward gives element 4 a gradient that is 1 % too large.
Variable with_wrong_gradient(const Variable& x) {
  return record(x.value().clone(), {x}, [x](Tensor gradient) {
    const Tensor d_x = gradient.clone();
    d_x.span<double>()[4] *= 1.01;
    x.accumulate_gradient(d_x);
  });
}

std::string message_of(const std::vector<Variable>& inputs, const std::function<Variable(std::span<const Variable>)>& f,
                       const GradcheckOptions& options = {}) {
  try {
    gradcheck(f, inputs, options);
    return "";
  } catch (const ContractError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("gradcheck accepts right gradients of any output, and leaves values and gradients as they were",
          "[autograd]") {
  const Variable a = random_parameter({2, 3}, 1, "a"), b = random_parameter({3, 4}, 2, "b");
  const Tensor before = a.value().clone();
  gradcheck([](std::span<const Variable> in) { return matmul(square(in[0]), in[1]); }, {a, b});
  gradcheck([](std::span<const Variable> in) { return sum(square(in[0])); }, {a});
  CHECK(test::elements_of(a.value()) == test::elements_of(before));
  CHECK_FALSE(a.has_gradient());
}

TEST_CASE("gradcheck names the element whose gradient is wrong", "[autograd]") {
  const Variable a = random_parameter({2, 3}, 1, "a"), b = random_parameter({2, 3}, 2, "b");
  const auto one_is_wrong = [](std::span<const Variable> in) { return mul(in[0], with_wrong_gradient(in[1])); };
  const std::string message = message_of({a, b}, one_is_wrong);
  CHECK(message.starts_with("gradcheck: element 4 of input 1 (\"b\"): backward() gives "));
  CHECK(message_of({a, b}, one_is_wrong, {.rtol = 0.02}).empty());
  const auto forgets_b = [](std::span<const Variable> in) { return mul(in[0], square(in[1].detach())); };
  CHECK(message_of({a, b}, forgets_b).starts_with("gradcheck: element 0 of input 1 (\"b\"): backward() gives 0, "));
}

TEST_CASE("gradcheck says that it needs float64 parameters", "[autograd]") {
  const auto f = [](std::span<const Variable> in) { return sum(in[0]); };
  const std::string expected =
      "gradcheck: input 0 is not a float64 parameter in host memory; make it with Variable::parameter()";
  CHECK(message_of({Variable(random_tensor({2}, 1))}, f) == expected);
  CHECK(message_of({Variable::parameter(random_tensor({2}, 1, DType::kFloat32), "x")}, f) == expected);
}

TEST_CASE("gradcheck takes an input that comes twice", "[autograd]") {
  const Variable a = random_parameter({2, 3}, 1, "a");
  gradcheck([](std::span<const Variable> in) { return mul(in[0], exp(in[1])); }, {a, a});
  CHECK_FALSE(a.has_gradient());
}

TEST_CASE("gradcheck passes on what the function throws, and gives the element its value back", "[autograd]") {
  const Variable a = random_parameter({2, 3}, 1, "a");
  const Tensor before = a.value().clone();
  int calls = 0;
  const auto throws_third = [&calls](std::span<const Variable> in) {
    if (++calls == 3) throw std::runtime_error("of the function");
    return square(in[0]);
  };
  CHECK_THROWS_WITH(gradcheck(throws_third, {a}), "of the function");
  CHECK(test::elements_of(a.value()) == test::elements_of(before));
}

TEST_CASE("gradcheck says that an input is frozen, or that a slope is not finite", "[autograd]") {
  const Variable a = random_parameter({2}, 1, "a");
  a.set_requires_grad(false);
  CHECK(message_of({random_parameter({2}, 2), a}, [](std::span<const Variable> in) {
          return mul(in[0], in[1]);
        }).starts_with("gradcheck: input 1 (\"a\") is frozen"));
  // The largest argument whose exponential is finite, less half of eps: the gradient is finite, the slope is not.
  const Variable x = Variable::parameter(Tensor::from<double>(std::array{709.7827123}, {1}), "x");
  CHECK(message_of({x}, [](std::span<const Variable> in) { return exp(in[0]); }, {.eps = 1e-3})
            .starts_with("gradcheck: the slope of element 0 of input 0 (\"x\") is inf"));
}
