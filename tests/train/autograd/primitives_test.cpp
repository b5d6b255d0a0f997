// The operations that models are written from by hand: gradients against slopes in float64, values against plain loops,
// and the device against both.
#include "autograd/primitives.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
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

// One expression of the given inputs, and their shapes.
struct Expression {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Variable(const std::vector<Variable>&)> run;
};

RotaryTable rotary_like(const Variable& x, std::int64_t positions, std::int64_t head_size) {
  return RotaryTable::make(positions, head_size, 100.0, kernels::accumulation_dtype(x.value().dtype()),
                           x.value().device());
}

std::vector<Expression> expressions() {
  using V = const std::vector<Variable>&;
  return {
      {"reshape",
       {{2, 3, 4}},
       [](V v) {
         return reshape(v[0], {4, 6});
       }},
      {"reshape of what is used twice", {{2, 6}}, [](V v) { return add(reshape(v[0], {12}), reshape(v[0], {12})); }},
      {"transpose of rank 2", {{3, 5}}, [](V v) { return transpose(v[0], 0, 1); }},
      {"transpose of rank 4", {{2, 3, 4, 5}}, [](V v) { return transpose(v[0], 1, -2); }},
      {"transpose of the last two", {{2, 3, 4, 5}}, [](V v) { return transpose(v[0], -1, 2); }},
      {"narrow", {{2, 7, 3}}, [](V v) { return narrow(v[0], 1, 2, 4); }},
      {"narrow of the first dimension", {{7, 3}}, [](V v) { return narrow(v[0], 0, 2, 4); }},
      {"narrow of the last dimension", {{2, 7}}, [](V v) { return narrow(v[0], -1, 6, 1); }},
      {"parts that overlap", {{9}}, [](V v) { return mul(narrow(v[0], 0, 0, 5), narrow(v[0], 0, 3, 5)); }},
      {"cat",
       {{2, 3}, {2, 1}, {2, 4}},
       [](V v) {
         return cat(std::array{v[0], v[1], v[2]}, -1);
       }},
      {"cat with itself",
       {{2, 3}},
       [](V v) {
         return cat(std::array{v[0], exp(v[0]), v[0]}, 0);
       }},
      {"matmul", {{3, 4}, {4, 5}}, [](V v) { return matmul(v[0], v[1]); }},
      {"matmul of many by one", {{2, 3, 4}, {4, 5}}, [](V v) { return matmul(v[0], v[1]); }},
      {"matmul of many", {{2, 3, 2, 4}, {2, 3, 4, 5}}, [](V v) { return matmul(v[0], v[1]); }},
      {"matmul of a square by itself", {{2, 3, 3}}, [](V v) { return matmul(v[0], v[0]); }},
      {"add of a row", {{2, 3, 4}, {4}}, [](V v) { return add(v[0], v[1]); }},
      {"add of a column to a row", {{3, 1}, {1, 4}}, [](V v) { return add(v[0], v[1]); }},
      {"add of one element", {{2, 3}, {}}, [](V v) { return add(v[0], v[1]); }},
      {"mul", {{2, 3}, {2, 3}}, [](V v) { return mul(v[0], v[1]); }},
      {"mul of a square", {{2, 3}}, [](V v) { return mul(v[0], v[0]); }},
      {"mul of a middle dimension", {{2, 3, 4}, {2, 1, 4}}, [](V v) { return mul(v[0], v[1]); }},
      {"mul of two outer dimensions", {{4}, {2, 3, 4}}, [](V v) { return mul(v[0], v[1]); }},
      {"mul by a number", {{2, 3}}, [](V v) { return mul(mul(v[0], -0.5), 3.0); }},
      {"exp", {{2, 3}}, [](V v) { return exp(v[0]); }},
      {"sum", {{2, 3}}, [](V v) { return mul(sum(v[0]), sum(v[0])); }},
      {"sum of the last dimension", {{2, 5}}, [](V v) { return sum(v[0], -1); }},
      {"sum of the first dimension", {{4, 5}}, [](V v) { return sum(v[0], 0, KeepAxis::kYes); }},
      {"sum of a middle dimension", {{2, 4, 3}}, [](V v) { return sum(v[0], 1); }},
      {"mean", {{2, 3}}, [](V v) { return mul(mean(v[0]), mean(v[0])); }},
      {"a deviation", {{2, 5}}, [](V v) { return add(v[0], mul(mean(v[0], 1, KeepAxis::kYes), -1.0)); }},
      {"softmax", {{2, 3, 7}}, [](V v) { return softmax(v[0]); }},
      {"sigmoid", {{2, 9}}, [](V v) { return sigmoid(v[0]); }},
      {"tanh", {{2, 3, 3}}, [](V v) { return tanh(v[0]); }},
      {"a gate", {{2, 3}, {2, 3}}, [](V v) { return mul(sigmoid(v[0]), tanh(add(v[0], v[1]))); }},
      {"silu", {{2, 9}}, [](V v) { return silu(v[0]); }},
      {"rms_norm", {{2, 3, 5}, {5}}, [](V v) { return rms_norm(v[0], v[1], 1e-5); }},
      {"rms_norm of its own weight", {{5}}, [](V v) { return rms_norm(v[0], v[0], 1e-5); }},
      {"rotary", {{2, 3, 4, 6}}, [](V v) { return apply_rotary_pos_emb(v[0], rotary_like(v[0], 4, 6)); }},
      {"everything twice",
       {{3, 4}, {4}},
       [](V v) {
         const Variable x = rms_norm(v[0], v[1], 1e-5), y = add(silu(x), softmax(x));
         return add(add(mul(x, y), exp(x)), add(transpose(transpose(y, 0, 1), 1, 0), mul(x, 0.3)));
       }},
  };
}

std::vector<Variable> inputs_of(const Expression& expression, DType dtype, Device device) {
  std::vector<Variable> inputs;
  for (std::size_t i = 0; i < expression.shapes.size(); ++i) {
    const Tensor value = random_tensor(expression.shapes[i], 10 + i, dtype).to(device);
    inputs.push_back(Variable::parameter(value, concat("input ", i)));
  }
  return inputs;
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    worst = difference <= worst ? worst : difference;
  }
  return worst;
}

// Values and gradients of every expression in float32 on `device` against float64.
void check_in_float32(Device device) {
  for (const Expression& expression : expressions()) {
    INFO(expression.name << " on " << device.name());
    const std::vector<Variable> wide = inputs_of(expression, DType::kFloat64, {});
    const std::vector<Variable> narrow_inputs = inputs_of(expression, DType::kFloat32, device);
    const Variable expected = expression.run(wide), output = expression.run(narrow_inputs);
    // At most ten operations of a handful of terms each, there and back, of numbers up to e^3: 200 roundoffs of 20.
    constexpr double kBound = 200 * 20 * 0x1p-24;
    CHECK(output.value().shape() == expected.value().shape());
    CHECK(worst_difference(elements_of(output.value()), elements_of(expected.value())) <= kBound);
    any_loss(expected).backward();
    any_loss(output).backward();
    for (std::size_t i = 0; i < wide.size(); ++i) {
      CHECK(narrow_inputs[i].gradient().device() == device);
      CHECK(worst_difference(elements_of(narrow_inputs[i].gradient()), elements_of(wide[i].gradient())) <= kBound);
    }
  }
}

}  // namespace

TEST_CASE("the gradients of every primitive are its slopes", "[autograd]") {
  for (const Expression& expression : expressions()) {
    INFO(expression.name);
    const std::vector<Variable> inputs = inputs_of(expression, DType::kFloat64, {});
    CHECK(gradient_mismatch(inputs, [&] { return any_loss(expression.run(inputs)); }) == "");
  }
}

TEST_CASE("gradients of primitives are added to those of an earlier backward", "[autograd]") {
  for (const Expression& expression : expressions()) {
    INFO(expression.name);
    const std::vector<Variable> inputs = inputs_of(expression, DType::kFloat64, {});
    any_loss(expression.run(inputs)).backward();
    std::vector<std::vector<double>> once;
    for (const Variable& input : inputs) once.push_back(elements_of(input.gradient()));
    any_loss(expression.run(inputs)).backward();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<double> twice = elements_of(inputs[i].gradient());
      for (std::size_t e = 0; e < twice.size(); ++e) CHECK(twice[e] == Approx(2 * once[i][e]).epsilon(1e-13));
    }
  }
}

TEST_CASE("primitives in float32 agree with float64", "[autograd]") { check_in_float32({}); }

TEST_CASE("primitives on a device agree with float64 on the CPU", "[autograd][gpu]") {
  check_in_float32(test::accelerator());
}

TEST_CASE("sigmoid and tanh are those of the standard library, from one end of float32 to the other", "[autograd]") {
  const std::vector<float> inputs{-3e38F, -200, -89, -8, -1, -1e-3F, 0, 1e-8F, 0.3F, 5, 17, 100, 1.5e38F};
  const Variable x = Variable::parameter(Tensor::from<float>(inputs, {13, 1}), "x");
  const Variable sigmoids = sigmoid(x), tanhs = tanh(x);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double input = static_cast<double>(inputs[i]);
    CHECK(std::abs(elements_of(sigmoids.value())[i] - 1 / (1 + std::exp(-input))) < 2e-7);
    CHECK(std::abs(elements_of(tanhs.value())[i] - std::tanh(input)) < 3e-7);
  }
  add(sum(sigmoids), sum(tanhs)).backward();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double input = static_cast<double>(inputs[i]), s = 1 / (1 + std::exp(-input)), t = std::tanh(input);
    CHECK(std::abs(elements_of(x.gradient())[i] - (s * (1 - s) + 1 - t * t)) < 1e-6);
  }
  CHECK(tanh(sigmoid(Variable(Tensor::zeros({0, 3})))).shape() == Shape{0, 3});
}

TEST_CASE("primitives say what does not fit", "[autograd]") {
  const Variable a = random_parameter({2, 3}, 1, "a"), b = random_parameter({2, 4}, 2, "b");
  CHECK_THROWS_WITH(mul(a, b), ContainsSubstring("[2, 4]") && ContainsSubstring("sizes must be equal or 1"));
  CHECK_THROWS_WITH(add(a, b), ContainsSubstring("sizes must be equal or 1"));
  CHECK_THROWS_WITH(matmul(a, b), ContainsSubstring("[2, 3]"));
  CHECK_THROWS_WITH(matmul(a, reshape(b, {1, 4, 2})), ContainsSubstring("leading dimensions"));
  CHECK_THROWS_WITH(matmul(a, reshape(b, {8})), ContainsSubstring("needs matrices"));
  CHECK_THROWS_WITH(reshape(a, {7}), ContainsSubstring("[7]"));
  CHECK_THROWS_WITH(narrow(a, 1, 2, 2), ContainsSubstring("elements [2, 4) of dimension 1"));
  CHECK_THROWS_WITH(narrow(a, 2, 0, 1), ContainsSubstring("axis 2"));
  CHECK_THROWS_WITH(transpose(a, 0, 2), ContainsSubstring("axis 2"));
  CHECK_THROWS_WITH(cat(std::array{a, b}, 0), ContainsSubstring("cat() along dimension 0"));
  CHECK_THROWS_WITH(cat({}, 0), ContainsSubstring("cat() of nothing"));
  CHECK_THROWS_WITH(sum(a, 2), ContainsSubstring("dimension 2"));
  CHECK_THROWS_WITH(apply_rotary_pos_emb(a, rotary_like(a, 2, 4)), ContainsSubstring("even D"));
  CHECK_THROWS_WITH(apply_rotary_pos_emb(b, rotary_like(b, 3, 4)),
                    ContainsSubstring("cos is float64 [3, 2] but must hold 4"));
  CHECK_THROWS_WITH(RotaryTable::make(2, 3), ContainsSubstring("must be even"));
}

TEST_CASE("views share memory where PyTorch's do and none is needed, and nothing else is overwritten", "[autograd]") {
  const Variable x(random_tensor({3, 4}, 1));
  CHECK(reshape(x, {12}).value().data() == x.value().data());
  CHECK(narrow(x, 0, 1, 2).value().const_data() == x.value().rows(1, 3).const_data());
  const std::vector<double> before = elements_of(x.value());
  (void)exp(reshape(x, {12}));  // moved in: a view's memory is not its own
  (void)mul(narrow(x, 0, 1, 2), 5.0);
  CHECK(elements_of(x.value()) == before);
}

TEST_CASE("under autocast products are bfloat16, and what follows keeps the type", "[autograd]") {
  const Autocast autocast(true);
  const Variable a = Variable::parameter(random_tensor({2, 3, 4}, 1, DType::kFloat32), "a"),
                 b = Variable::parameter(random_tensor({2, 4, 3}, 2, DType::kFloat32), "b"),
                 gain = Variable::parameter(random_tensor({3}, 3, DType::kFloat32), "gain");
  const Variable product = matmul(a, b);
  CHECK(product.value().dtype() == DType::kBFloat16);
  for (const Variable& next :
       {softmax(product), silu(product), exp(product), sigmoid(product), tanh(product), mul(product, 2.0),
        transpose(product, 1, 2), narrow(product, 2, 1, 2), rms_norm(product, gain, 1e-5)}) {
    CHECK(next.value().dtype() == DType::kBFloat16);
  }
  const Variable wider = mul(product, gain);
  CHECK(wider.value().dtype() == DType::kFloat32);
  const Variable loss = mean(add(mul(rms_norm(product, gain, 1e-5), softmax(product)), wider));
  loss.backward();
  for (const Variable& parameter : {a, b, gain}) {
    CHECK(parameter.gradient().dtype() == DType::kFloat32);
    for (const double element : elements_of(parameter.gradient())) CHECK(std::isfinite(element));
  }
}
