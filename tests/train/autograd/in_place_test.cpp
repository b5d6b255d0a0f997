// Operations that put their result where an input was, and others that read it.
#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/checkpoint.hpp"
#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/primitives.hpp"
#include "kernels/types.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::gradient_mismatch;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;
using lockstep::test::random_tokens;

namespace {

// Operations from and to [2, 3, 6]. Each producer's output or input is kept for backward by some of them.
using Operation = std::function<Variable(Variable)>;

struct NamedOperation {
  std::string name;
  Operation run;
};

const Variable kWeight(random_tensor({6, 6}, 50)), kWide(random_tensor({18, 6}, 51)), kGain(random_tensor({6}, 52)),
    kShift(random_tensor({6}, 53)), kOther(random_tensor({2, 3, 6}, 54));
const Variable kSquares(random_tensor({2, 6, 6}, 55));
const RotaryTable kTable = RotaryTable::make(3, 6, 10.0, DType::kFloat64);
const std::array<std::int64_t, 2> kSamples{7, 3};
const kernels::DropoutMask kMask{0.4F, kernels::dropout_key(1, 2, 3), kSamples};

std::vector<NamedOperation> producers() {
  return {{"linear", [](Variable x) { return linear(x, kWeight, {}); }},
          {"relu", [](Variable x) { return relu(std::move(x)); }},
          {"gelu", [](Variable x) { return gelu(x); }},
          {"dropout", [](Variable x) { return dropout(std::move(x), kMask); }},
          {"add", [](Variable x) { return add(std::move(x), kOther); }},
          {"attention", [](Variable x) { return attention(linear(x, kWide, {}), 2); }},
          {"layer_norm", [](Variable x) { return layer_norm(x, kGain, kShift, 1e-5); }},
          {"sum of add_layer_norm",
           [](Variable x) { return add_layer_norm(kOther, std::move(x), kGain, kShift, 1e-5).sum; }},
          {"norm of add_layer_norm",
           [](Variable x) { return add_layer_norm(kOther, std::move(x), kGain, kShift, 1e-5).normalized; }},
          {"matmul", [](Variable x) { return matmul(x, kWeight); }},
          {"matmul of many", [](Variable x) { return matmul(x, kSquares); }},
          {"reshape",
           [](Variable x) {
             return reshape(reshape(x, {36}), {2, 3, 6});
           }},
          {"transpose", [](Variable x) { return transpose(transpose(x, 1, 2), 2, 1); }},
          {"narrow and cat",
           [](Variable x) {
             return cat(std::array{narrow(x, 0, 1, 1), narrow(x, 0, 0, 1)}, 0);
           }},
          {"mul", [](Variable x) { return mul(x, kOther); }},
          {"mul by a number", [](Variable x) { return mul(std::move(x), 0.7); }},
          {"exp", [](Variable x) { return exp(mul(std::move(x), 0.1)); }},
          {"softmax", [](Variable x) { return softmax(x); }},
          {"silu", [](Variable x) { return silu(x); }},
          {"rms_norm", [](Variable x) { return rms_norm(x, kGain, 1e-5); }},
          {"rotary", [](Variable x) { return apply_rotary_pos_emb(x, kTable); }},
          {"sum that is added", [](Variable x) { return add(x, sum(x, -1, KeepAxis::kYes)); }},
          {"checkpointed relu", [](Variable x) {
             return checkpoint([](std::span<const Variable> given) { return std::vector{relu(given[0])}; },
                               {std::move(x)})
                 .front();
           }}};
}

Variable to_number(const Variable& output) { return mse_loss(output, random_tensor(output.value().shape(), 99)); }

std::vector<NamedOperation> readers() {
  static const Tensor kTargets = random_tokens({2, 3}, 6, 60);
  std::vector<NamedOperation> all{
      {"mse_loss", [](Variable y) { return to_number(y); }},
      {"cross_entropy", [](Variable y) { return cross_entropy(std::move(y), kTargets); }},
      {"head_cross_entropy", [](Variable y) { return head_cross_entropy(y, kWeight, kTargets); }}};
  for (const NamedOperation& producer : producers()) {
    all.push_back({producer.name, [run = producer.run](Variable y) { return to_number(run(std::move(y))); }});
  }
  return all;
}

}  // namespace

TEST_CASE("no operation overwrites what another one still reads", "[autograd]") {
  const Variable x = random_parameter({2, 3, 6}, 1, "x");
  for (const NamedOperation& producer : producers()) {
    for (const NamedOperation& reader : readers()) {
      INFO(producer.name << " read by " << reader.name);
      CHECK(gradient_mismatch(
                {x}, [&] { return reader.run(producer.run(gelu(x))); }, 9) == "");
      CHECK(gradient_mismatch(
                {x}, [&] { return reader.run(producer.run(x)); }, 9) == "");
      for (const NamedOperation& second : readers()) {
        INFO("and by " << second.name);
        CHECK(gradient_mismatch(
                  {x},
                  [&] {
                    Variable y = producer.run(x);
                    const Variable first = reader.run(y);
                    return add(first, second.run(std::move(y)));
                  },
                  4) == "");
      }
    }
  }
}

TEST_CASE("one variable may be several inputs of an operation", "[autograd]") {
  const Variable square = random_parameter({6, 6}, 1, "square"), row = random_parameter({6}, 2, "row"),
                 other = random_parameter({6}, 3, "other"), x = random_parameter({4, 6}, 4, "x");
  const Tensor targets = random_tokens({6}, 6, 5);
  CHECK(gradient_mismatch({square}, [&] { return to_number(linear(square, square, {})); }) == "");
  CHECK(gradient_mismatch({square}, [&] { return to_number(gelu_conv1d(square, square, {})); }) == "");
  CHECK(gradient_mismatch({square, row}, [&] { return to_number(add(linear(square, square, row), square)); }) == "");
  CHECK(gradient_mismatch({square}, [&] { return head_cross_entropy(square, square, targets); }) == "");
  CHECK(gradient_mismatch({x, row}, [&] { return to_number(layer_norm(x, row, row, 1e-5)); }) == "");
  CHECK(gradient_mismatch({row, other}, [&] { return to_number(layer_norm(row, row, other, 1e-5)); }) == "");
  CHECK(gradient_mismatch({row, other}, [&] { return to_number(layer_norm(row, other, row, 1e-5)); }) == "");
  CHECK(gradient_mismatch({x, row}, [&] { return to_number(add_layer_norm(x, x, row, row, 1e-5).normalized); }) == "");
  const Tensor tokens = random_tokens({2, 3}, 6, 6);
  CHECK(gradient_mismatch({square}, [&] { return to_number(embedding(tokens, square, square)); }) == "");
}
