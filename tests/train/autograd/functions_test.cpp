#include "autograd/functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/node.hpp"
#include "device/storage.hpp"
#include "kernels/loss.hpp"
#include "kernels/types.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::any_loss;
using lockstep::test::gradient_mismatch;
using lockstep::test::random_parameter;
using lockstep::test::random_tensor;
using lockstep::test::random_tokens;

TEST_CASE("the gradient check notices a wrong gradient and a missing one", "[autograd]") {
  const Variable x = random_parameter({3}, 1, "x"), y = random_parameter({3}, 2, "y");
  const auto doubled_gradient = [](const Variable& input) {
    return record(input.value().clone(), {input}, [input](const Tensor& d_output) {
      input.accumulate_gradient(d_output);
      input.accumulate_gradient(d_output);
    });
  };
  CHECK_THAT(gradient_mismatch({x}, [&] { return any_loss(doubled_gradient(x)); }),
             ContainsSubstring("x[0]: gradient"));
  CHECK(gradient_mismatch({y}, [&] { return any_loss(relu(x)); }) == "y has no gradient");
}

TEST_CASE("linear's gradients are its slopes", "[autograd]") {
  const Variable x = random_parameter({2, 3, 4}, 1, "x"), w = random_parameter({5, 4}, 2, "w"),
                 b = random_parameter({5}, 3, "b");
  CHECK(gradient_mismatch({x, w, b}, [&] { return any_loss(linear(x, w, b)); }).empty());
  CHECK(gradient_mismatch({x, w}, [&] { return any_loss(linear(x, w, {})); }).empty());
}

TEST_CASE("conv1d's gradients are its slopes", "[autograd]") {
  const Variable x = random_parameter({6, 4}, 1, "x"), w = random_parameter({4, 5}, 2, "w"),
                 b = random_parameter({5}, 3, "b");
  CHECK(gradient_mismatch({x, w, b}, [&] { return any_loss(conv1d(x, w, b)); }).empty());
}

TEST_CASE("conv1d is linear with the weight transposed", "[autograd]") {
  const Variable x(random_tensor({3, 2}, 1)), b(random_tensor({2}, 3));
  const Variable in_out(Tensor::from<double>(std::array{1.0, 2.0, 3.0, 4.0}, {2, 2}));
  const Variable out_in(Tensor::from<double>(std::array{1.0, 3.0, 2.0, 4.0}, {2, 2}));
  const Tensor a = conv1d(x, in_out, b).value(), c = linear(x, out_in, b).value();
  for (std::size_t i = 0; i < 6; ++i) CHECK(a.span<double>()[i] == Approx(c.span<double>()[i]));
}

TEST_CASE("element-wise gradients are slopes, even if an input is used twice", "[autograd]") {
  const Variable x = random_parameter({3, 7}, 1, "x"), y = random_parameter({3, 7}, 2, "y");
  CHECK(gradient_mismatch({x, y}, [&] { return any_loss(add(x, y)); }).empty());
  CHECK(gradient_mismatch({x}, [&] { return any_loss(relu(x)); }).empty());
  CHECK(gradient_mismatch({x}, [&] { return any_loss(gelu(x)); }).empty());
  CHECK(gradient_mismatch({x}, [&] { return any_loss(add(gelu(x), x)); }).empty());
  CHECK(gradient_mismatch({x, y}, [&] {
          const Variable sum = add(x, y);
          return any_loss(add(add(relu(sum), gelu(sum)), add(sum, sum)));
        }).empty());
}

TEST_CASE("gelu_conv1d is conv1d of gelu, bit for bit, and keeps less", "[autograd]") {
  const Variable x = random_parameter({6, 4}, 1, "x"), w = random_parameter({4, 5}, 2, "w"),
                 b = random_parameter({5}, 3, "b");
  CHECK(gradient_mismatch({x, w, b}, [&] { return any_loss(gelu_conv1d(gelu(x), w, b)); }).empty());

  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  const Autocast autocast(dtype == DType::kBFloat16);
  const auto run = [&](bool is_fused) {
    const Variable input = Variable::parameter(random_tensor({70, 33}, 1, DType::kFloat32), "input");
    const Variable weight = Variable::parameter(random_tensor({33, 20}, 2, DType::kFloat32), "weight");
    const Variable bias = Variable::parameter(random_tensor({20}, 3, DType::kFloat32), "bias");
    const Variable wide = cast(input, dtype);
    const std::size_t before = allocator_statistics().bytes_in_use;
    const Variable output = is_fused ? gelu_conv1d(wide, weight, bias) : conv1d(gelu(wide), weight, bias);
    const std::size_t kept = allocator_statistics().bytes_in_use - before;
    const Variable loss = mse_loss(output, Tensor::zeros({70, 20}));
    loss.backward();
    std::vector<float> all{static_cast<float>(loss.value().item())};
    for (const Variable& parameter : {input, weight, bias}) {
      const auto span = parameter.gradient().span<float>();
      all.insert(all.end(), span.begin(), span.end());
    }
    return std::pair(all, kept);
  };
  const auto [fused, kept_fused] = run(true);
  const auto [separate, kept_separate] = run(false);
  CHECK(fused == separate);
  CHECK(kept_fused + 70 * 33 * bytes_of(dtype) <= kept_separate);
}

TEST_CASE("layer_norm's gradients are its slopes", "[autograd]") {
  const Variable x = random_parameter({2, 3, 5}, 1, "x"), w = random_parameter({5}, 2, "w"),
                 b = random_parameter({5}, 3, "b");
  CHECK(gradient_mismatch({x, w, b}, [&] { return any_loss(layer_norm(x, w, b, 1e-5)); }).empty());
  CHECK(gradient_mismatch({x, w, b}, [&] { return any_loss(layer_norm(gelu(x), w, b, 1e-5)); }).empty());
}

TEST_CASE("add_layer_norm equals add, then layer_norm, in value and gradients", "[autograd]") {
  const Variable x = random_parameter({4, 5}, 1, "x"), branch = random_parameter({4, 5}, 2, "branch"),
                 w = random_parameter({5}, 3, "w"), b = random_parameter({5}, 4, "b");
  const auto fused = [&] {
    const auto [sum, normalized] = add_layer_norm(gelu(x), relu(branch), w, b, 1e-5);
    return any_loss(add(sum, gelu(normalized)));
  };
  const auto apart = [&] {
    const Variable sum = add(gelu(x), relu(branch));
    return any_loss(add(sum, gelu(layer_norm(sum, w, b, 1e-5))));
  };
  CHECK(fused().value().item() == Approx(apart().value().item()).epsilon(1e-14));
  CHECK(gradient_mismatch({x, branch, w, b}, fused).empty());
  CHECK(gradient_mismatch({x, branch, w, b}, apart).empty());
}

TEST_CASE("the residual stream gets both its gradients when only the sum or only the norm is used", "[autograd]") {
  const Variable x = random_parameter({4, 5}, 1, "x"), branch = random_parameter({4, 5}, 2, "branch"),
                 w = random_parameter({5}, 3, "w"), b = random_parameter({5}, 4, "b");
  CHECK(gradient_mismatch({x, branch}, [&] { return any_loss(add_layer_norm(x, branch, w, b, 1e-5).sum); }).empty());
  CHECK(gradient_mismatch({x, branch, w, b}, [&] {
          return any_loss(add_layer_norm(x, branch, w, b, 1e-5).normalized);
        }).empty());
}

TEST_CASE("embedding's gradients are its slopes, for tokens that repeat and rows that are not used", "[autograd]") {
  const Variable tokens = random_parameter({6, 3}, 1, "tokens"), positions = random_parameter({5, 3}, 2, "positions");
  const std::array<std::int32_t, 8> ids{0, 1, 1, 5, 1, 0, 3, 3};
  const Tensor input = Tensor::from<std::int32_t>(ids, {2, 4});
  CHECK(gradient_mismatch({tokens, positions}, [&] { return any_loss(embedding(input, tokens, positions)); }).empty());
}

TEST_CASE("attention's gradients are its slopes, and it does not look ahead", "[autograd]") {
  const Variable qkv = random_parameter({2, 5, 12}, 1, "qkv");
  CHECK(gradient_mismatch({qkv}, [&] { return any_loss(attention(qkv, 2)); }).empty());
  const NoGradGuard no_grad;
  const Tensor before = attention(qkv, 2).value().clone();
  for (std::size_t i = 4 * 12; i < 5 * 12; ++i) qkv.value().span<double>()[i] += 1;  // sample 0, position 4
  const Tensor after = attention(qkv, 2).value();
  for (std::size_t i = 0; i < 4 * 4; ++i) CHECK(before.span<double>()[i] == after.span<double>()[i]);
  CHECK(before.span<double>()[4 * 4] != after.span<double>()[4 * 4]);
}

TEST_CASE("dropout drops the same elements in backward, and keeps the mean", "[autograd]") {
  const std::array<std::int64_t, 2> samples{7, 3};
  const kernels::DropoutMask mask{0.5F, kernels::dropout_key(1, 2, 3), samples};
  const Variable x = random_parameter({2, 3, 8}, 1, "x"), qkv = random_parameter({2, 5, 12}, 1, "qkv");
  CHECK(gradient_mismatch({x}, [&] { return any_loss(dropout(gelu(x), mask)); }).empty());
  CHECK(gradient_mismatch({x}, [&] { return any_loss(dropout(x, mask)); }).empty());
  CHECK(gradient_mismatch({qkv}, [&] { return any_loss(attention(qkv, 2, mask)); }).empty());
  const Tensor dropped = dropout(x, mask).value();
  int zeros = 0;
  for (std::size_t i = 0; i < 48; ++i) {
    const double value = dropped.span<double>()[i];
    zeros += value == 0;
    CHECK((value == 0 || value == 2 * x.value().span<double>()[i]));
  }
  CHECK((zeros > 8 && zeros < 40));  // 24 expected, standard deviation 3.5
}

TEST_CASE("mse_loss is PyTorch's mean over all elements", "[autograd]") {
  const Variable x = Variable::parameter(Tensor::from<double>(std::array{1.0, 2.0, 4.0, 0.0}, {2, 2}), "x");
  const Variable loss = mse_loss(x, Tensor::from<double>(std::array{0.0, 0.0, 1.0, 2.0}, {2, 2}));
  CHECK(loss.value().item() == Approx((1 + 4 + 9 + 4) / 4.0));
  loss.backward();
  const std::vector<double> expected{0.5, 1.0, 1.5, -1.0};  // 2 (prediction - target) / 4
  for (std::size_t i = 0; i < 4; ++i) CHECK(x.gradient().span<double>()[i] == Approx(expected[i]));
}

TEST_CASE("mse_loss compares what has the same shape, and broadcasts nothing", "[autograd]") {
  const Variable column(random_tensor({3, 1}, 1)), matrix(random_tensor({2, 3}, 2));
  CHECK(mse_loss(column, column.value().reshape({3})).value().item() == 0);
  CHECK_THROWS_WITH(mse_loss(matrix, random_tensor({3, 2}, 3)),
                    ContainsSubstring("mse_loss() of [2, 3] with a target [3, 2]"));
  CHECK_THROWS_WITH(mse_loss(column, random_tensor({2, 3}, 3)), ContainsSubstring("need the same shape"));
}

TEST_CASE("cross_entropy takes classes of the logits' rows, and says so to other targets", "[autograd]") {
  const Variable logits(random_tensor({2, 3, 5}, 1)), table(random_tensor({5, 5}, 2));
  const Tensor classes = random_tokens({2, 3}, 5, 3);
  const double loss = cross_entropy(logits, classes).value().item();
  CHECK(cross_entropy(logits, classes.reshape({6})).value().item() == loss);
  CHECK(cross_entropy(reshape(logits, {6, 5}), classes).value().item() == loss);
  const auto message = [&](const std::string& targets) {
    return ContainsSubstring("cross_entropy() of float64 [2, 3, 5] with targets " + targets +
                             "; it needs [2, 3] classes, as int32");
  };
  CHECK_THROWS_WITH(cross_entropy(logits, classes.reshape({3, 2})), message("int32 [3, 2]"));
  CHECK_THROWS_WITH(head_cross_entropy(logits, table, classes.reshape({3, 2})), message("int32 [3, 2]"));
  CHECK_THROWS_WITH(cross_entropy(logits, Tensor::zeros({2, 3}, DType::kInt64)), message("int64 [2, 3]"));
  CHECK_THROWS_WITH(cross_entropy(logits, Tensor::zeros({2, 3, 5})), message("float32 [2, 3, 5]"));  // one-hot
}

TEST_CASE("cross_entropy's gradients are its slopes, ignored rows count for nothing", "[autograd]") {
  const Variable x = random_parameter({5, 7}, 1, "x"), w = random_parameter({7, 7}, 2, "w");
  const Tensor targets = Tensor::from<std::int32_t>(std::array{0, 6, 3, -100, 3}, {5});
  CHECK(gradient_mismatch({x}, [&] { return cross_entropy(x, targets); }).empty());
  CHECK(gradient_mismatch({x, w}, [&] { return cross_entropy(linear(x, w, {}), targets); }).empty());
}

TEST_CASE("head_cross_entropy equals linear, then cross_entropy", "[autograd]") {
  const Variable x = random_parameter({2, 3, 4}, 1, "x"), table = random_parameter({7, 4}, 2, "table");
  const Tensor targets = random_tokens({2, 3}, 7, 3);
  const double expected = cross_entropy(linear(x, table, {}), targets).value().item();
  CHECK(head_cross_entropy(x, table, targets).value().item() == Approx(expected).epsilon(1e-13));
  CHECK(gradient_mismatch({x, table}, [&] { return head_cross_entropy(x, table, targets); }).empty());
}

TEST_CASE("a part of a batch without targets adds nothing, neither to loss nor to gradients", "[autograd]") {
  const Variable x = random_parameter({2, 3, 4}, 1, "x"), table = random_parameter({7, 4}, 2, "table");
  const auto of_parts = [&](const Tensor& targets, const auto& loss_of) {
    double mean = 0;
    for (std::int64_t part = 0; part < 2; ++part) {
      const Tensor own = targets.rows(part, part + 1);
      const double weight = static_cast<double>(target_count(own)) / static_cast<double>(target_count(targets));
      const Variable input = embedding(Tensor::from<std::int32_t>(std::array{0, 1, 2}, {1, 3}), table, {});
      const Variable loss = loss_of(add(input, Variable(x.value().rows(part, part + 1))), own);
      mean += weight * loss.value().item();
      loss.backward(weight);
    }
    return mean;
  };
  const auto separate = [&](const Variable& hidden, const Tensor& targets) {
    return cross_entropy(linear(hidden, table, {}), targets);
  };
  const auto fused = [&](const Variable& hidden, const Tensor& targets) {
    return head_cross_entropy(hidden, table, targets);
  };
  const Tensor targets = Tensor::from<std::int32_t>(std::array{-100, 4, 2, -100, -100, -100}, {2, 3});
  CHECK(target_count(targets) == 2);
  CHECK(target_count(x.value()) == 24);
  CHECK(target_count(Tensor()) == 0);
  for (const auto& loss_of : {std::function<Variable(const Variable&, const Tensor&)>(separate),
                              std::function<Variable(const Variable&, const Tensor&)>(fused)}) {
    table.zero_grad();
    const double mean = of_parts(targets, loss_of);
    const Tensor gradient = table.gradient().clone();
    table.zero_grad();
    const Variable input = embedding(Tensor::from<std::int32_t>(std::array{0, 1, 2}, {1, 3}), table, {});
    const Variable whole = loss_of(add(input, Variable(x.value().rows(0, 1))), targets.rows(0, 1));
    whole.backward();
    CHECK(mean == Approx(whole.value().item()).epsilon(1e-14));
    for (std::size_t i = 0; i < 28; ++i) {
      CHECK(gradient.span<double>()[i] == Approx(table.gradient().span<double>()[i]).margin(1e-14));
    }
    const NoGradGuard no_grad;
    CHECK(loss_of(Variable(x.value().rows(1, 2)), targets.rows(1, 2)).value().item() == 0);
  }
}

namespace {

// 1100 rows of 16000 float64 logits are 134 MiB: more than head_cross_entropy keeps.
struct WideHead {
  Variable x = random_parameter({1100, 4}, 1, "x"), table = random_parameter({16000, 4}, 2, "table");
  Tensor targets = random_tokens({1100}, 16000, 3);
  Tensor expected_x, expected_table;  // gradients of half the loss

  WideHead() {
    cross_entropy(linear(x, table, {}), targets).backward(0.5);
    expected_x = x.gradient().clone();
    expected_table = table.gradient().clone();
    zero_grad();
  }
  void zero_grad() const {
    x.zero_grad();
    table.zero_grad();
  }
  [[nodiscard]] Variable loss() const { return head_cross_entropy(x, table, targets); }

  // The largest difference of a gradient from `factor` times the expected one; gradients are around 1e-3.
  [[nodiscard]] double error(double factor) const {
    double largest = 0;
    for (const auto& [variable, expected] : {std::pair(x, expected_x), std::pair(table, expected_table)}) {
      const auto ours = variable.gradient().span<double>(), theirs = expected.span<double>();
      for (std::size_t i = 0; i < ours.size(); ++i) largest = std::max(largest, std::abs(ours[i] - factor * theirs[i]));
    }
    return largest;
  }
};

}  // namespace

TEST_CASE("a head too wide for all logits at once gives the same loss and gradients", "[autograd]") {
  const WideHead head;
  const double expected = cross_entropy(linear(head.x, head.table, {}), head.targets).value().item();
  const void* const storage = head.table.begin_gradient_write().first.data();
  head.zero_grad();
  const Variable loss = head.loss();
  CHECK(loss.value().item() == Approx(expected).epsilon(1e-12));
  CHECK_FALSE(head.table.has_gradient());  // prepared, not yet written
  loss.backward(0.5);
  CHECK(head.error(1) < 1e-14);
  CHECK(head.table.gradient().data() == storage);
  head.loss().backward(1.0);  // adds
  CHECK(head.error(3) < 1e-14);

  for (std::int32_t& target : head.targets.span<std::int32_t>()) target = kernels::kIgnoredTarget;
  const Variable nothing = head.loss();
  CHECK(nothing.value().item() == 0);
  nothing.backward();
  CHECK(head.error(3) < 1e-14);
}

TEST_CASE("a gradient that forward prepares outlives the memory that it was prepared in", "[autograd]") {
  const WideHead head;
  const Tensor old = head.table.begin_gradient_write().first;
  head.table.zero_grad();
  const Variable loss = head.loss();  // prepares it in `old`
  head.table.rebind_gradient(Tensor::empty({16000, 4}, DType::kFloat64));
  old.fill_zero();  // which is another's by now
  loss.backward(0.5);
  CHECK(head.error(1) < 1e-14);
}

TEST_CASE("gradients that forward prepares survive other graphs and rebinding", "[autograd]") {
  const WideHead head;
  const Variable first = head.loss(), second = head.loss();
  SECTION("two graphs, in order") {
    first.backward(0.5);
    second.backward(0.5);
    CHECK(head.error(2) < 1e-14);
  }
  SECTION("two graphs, the other way round") {
    second.backward(0.5);
    first.backward(0.5);
    CHECK(head.error(2) < 1e-14);
  }
  SECTION("the gradient moves between forward and backward") {
    const Tensor view = Tensor::empty({16000, 4}, DType::kFloat64);
    head.table.rebind_gradient(view);
    first.backward(0.5);
    CHECK(head.table.gradient().data() == view.data());
    CHECK(head.error(1) < 1e-14);
  }
}
