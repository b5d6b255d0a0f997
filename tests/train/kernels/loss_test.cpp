#include "kernels/loss.hpp"

#include "base/error.hpp"
#include "device/storage.hpp"
#include "kernels/matmul.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"
#include "tensor/slice.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

struct LossReference {
  Values losses, gradient;
};

LossReference loss_reference(const Tensor& logits, const Tensor& targets, double scale) {
  const Values x = values_of(logits);
  const std::size_t rows = targets.span<std::int32_t>().size(), V = x.size() / rows;
  LossReference result{Values(rows), Values(x.size())};
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t target = targets.span<std::int32_t>()[row];
    if (target == kIgnoredTarget) continue;
    double total = 0;
    for (std::size_t v = 0; v < V; ++v) total += std::exp(x[row * V + v]);
    for (std::size_t v = 0; v < V; ++v) {
      result.gradient[row * V + v] =
          scale * (std::exp(x[row * V + v]) / total - (static_cast<std::int32_t>(v) == target ? 1 : 0));
    }
    result.losses[row] = std::log(total) - x[row * V + static_cast<std::size_t>(target)];
  }
  return result;
}

}  // namespace

TEST_CASE("softmax with cross-entropy agrees with its definition and leaves the gradient", "[kernels]") {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 31}, Shape{2, 33, 256}, Shape{2, 5003}}) {
    const Tensor logits = random_tensor<float>(shape, 1, 3.0);
    const std::int64_t rows = shape.count() / shape[-1];
    const Tensor targets = random_ids({rows}, shape[-1], 2), losses = Tensor::empty({rows}),
                 losses_only = Tensor::empty({rows});
    const LossReference expected = loss_reference(logits, targets, 0.25);
    cross_entropy_loss(losses_only, logits, targets);
    softmax_cross_entropy(losses, logits, targets, 0.25);
    // An exponential is off by 2 roundings of its argument (magnitude up to 32) plus 2 of its own; a loss up to 32
    // rounds once.
    CHECK(largest_difference(losses, expected.losses) <= 64 * kRoundoff<float>);
    CHECK(largest_difference(logits, expected.gradient) <= 0.25 * 64 * kRoundoff<float>);
    CHECK(equal_bits(losses, losses_only));
  }
}

TEST_CASE("an ignored target has no loss and no gradient", "[kernels]") {
  const Tensor logits = random_tensor<float>({3, 10}, 1), losses = Tensor::empty({3});
  const Tensor targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{4, kIgnoredTarget, 0}, {3});
  logits.span<float>()[12] = NAN;  // not even a NaN of an ignored row counts
  softmax_cross_entropy(losses, logits, targets, 1.0);
  CHECK(losses.span<float>()[1] == 0);
  for (std::size_t v = 0; v < 10; ++v) CHECK(logits.span<float>()[10 + v] == 0);
  CHECK(losses.span<float>()[0] > 0);
}

TEST_CASE("large logits do not overflow and infinities become NaN", "[kernels]") {
  const Tensor losses = Tensor::empty({4}),
               targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 0, 0, 1}, {4});
  const Tensor logits = Tensor::from<float>(std::vector<float>{1e4F, 0, 0, 1e4F, NAN, 0, INFINITY, 0}, {4, 2});
  softmax_cross_entropy(losses, logits, targets, 1.0);
  CHECK(losses.span<float>()[0] == 0);
  CHECK(losses.span<float>()[1] == 1e4F);
  CHECK(std::isnan(losses.span<float>()[2]));
  CHECK(std::isnan(losses.span<float>()[3]));
  CHECK(std::isnan(logits.span<float>()[5]));
}

TEST_CASE("minus infinity masks a class", "[kernels]") {
  const Tensor losses = Tensor::empty({1}), targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{1}, {1});
  const Tensor logits = Tensor::from<float>(std::vector<float>{-INFINITY, 2, 2}, {1, 3});
  softmax_cross_entropy(losses, logits, targets, 1.0);
  CHECK(std::abs(losses.span<float>()[0] - std::log(2.0F)) < 1e-6F);
  CHECK(logits.span<float>()[0] == 0);
}

TEST_CASE("the loss's gradient agrees with finite differences", "[kernels]") {
  const Tensor logits = random_tensor<double>({3, 7}, 1), targets = random_ids({3}, 7, 2),
               losses = Tensor::empty({3}, DType::kFloat64);
  const Values expected = finite_differences(logits, [&] {
    cross_entropy_loss(losses, logits, targets);
    return sum(losses);
  });
  softmax_cross_entropy(losses, logits, targets, 1.0);
  CHECK(largest_difference(logits, expected) < kFiniteDifferenceTolerance);
}

TEST_CASE("head and loss in one equal the separate operations", "[kernels]") {
  const std::int64_t R = 70, C = 9, V = 33;
  const Tensor input = random_tensor<double>({2, 35, C}, 1), weight = random_tensor<double>({V, C}, 2),
               targets = random_ids({R}, V, 3);
  const Tensor logits = Tensor::empty({R, V}, DType::kFloat64), losses = Tensor::empty({R}, DType::kFloat64),
               fused = losses.clone();
  const Tensor dx = input.clone(), dw = weight.clone(), fused_dx = input.clone(), fused_dw = weight.clone();
  matmul(logits, input, Transpose::kNo, weight, Transpose::kYes);
  softmax_cross_entropy(losses, logits, targets, 0.1);
  matmul(dx, logits, Transpose::kNo, weight, Transpose::kNo);
  matmul(dw, logits, Transpose::kYes, input, Transpose::kNo, Write::kAdd);
  linear_cross_entropy(fused, fused_dx, fused_dw, Write::kAdd, input, weight, targets, 0.1);
  CHECK(largest_difference(fused, values_of(losses)) < 1e-13);
  CHECK(largest_difference(fused_dx, values_of(dx)) < 1e-13);
  CHECK(largest_difference(fused_dw, values_of(dw)) < 1e-13);
  linear_cross_entropy(fused, {}, {}, Write::kOverwrite, input, weight, targets, 0.1);
  CHECK(largest_difference(fused, values_of(losses)) < 1e-13);
}

TEST_CASE("head and loss in one go through several chunks of rows", "[kernels]") {
  const std::int64_t R = 150, C = 2, V = 500'000;  // 64 rows of 4 V bytes are 128 MB: three chunks
  const Tensor input = random_tensor<float>({R, C}, 1), weight = random_tensor<float>({V, C}, 2),
               targets = random_ids({R}, V, 3);
  const Tensor losses = Tensor::empty({R}), dx = Tensor::empty({R, C}), dw = Tensor::empty({V, C}),
               logits = Tensor::empty({R, V});
  linear_cross_entropy(losses, dx, dw, Write::kOverwrite, input, weight, targets, 1.0);
  const Tensor expected_losses = Tensor::empty({R}), expected_dw = Tensor::empty({V, C});
  matmul(logits, input, Transpose::kNo, weight, Transpose::kYes);
  softmax_cross_entropy(expected_losses, logits, targets, 1.0);
  matmul(expected_dw, logits, Transpose::kYes, input, Transpose::kNo);
  CHECK(largest_difference(losses, values_of(expected_losses)) <= 32 * kRoundoff<float>);
  CHECK(largest_difference(dw, values_of(expected_dw)) <=
        64 * kRoundoff<float>);  // sums of 150 terms below 1, mostly tiny
}

TEST_CASE("head and loss in one hold as many logits as their input suggests, in chunks of one size", "[kernels]") {
  const auto rows = [](std::int64_t R, std::int64_t C, std::int64_t V) {
    return rows_of_logits(R, C, V, DType::kFloat32);
  };
  CHECK(rows(2048, 128, 256) == 2048);    // 2 MiB: all
  CHECK(rows(2048, 256, 8192) == 512);    // 64 MiB; eight times the input is 16 MiB
  CHECK(rows(4064, 512, 50257) == 320);   // 63.5 MiB hold 331 rows; 13 chunks
  CHECK(rows(2032, 512, 50257) == 128);   // 31.75 MiB hold 165 rows; 16 chunks
  CHECK(rows(8192, 768, 50257) == 640);   // never above 128 MiB, which hold 667 rows; 13 chunks
  CHECK(rows(83, 1, 50257) == 83);        // never below 16 MiB
  CHECK(rows(84, 1, 50257) == 64);        // two chunks
  CHECK(rows(200, 1, 10'000'000) == 64);  // nor below 64 rows
  CHECK(rows(0, 512, 50257) == 0);
  CHECK(rows(10, 0, 0) == 10);
  CHECK(rows_of_logits(4064, 512, 50257, DType::kBFloat16) == 320);
  const auto on_gpu = [](std::int64_t batch) {
    return rows_of_logits(batch * 1024, 768, 50304, DType::kBFloat16, DeviceType::kCuda);
  };
  CHECK(on_gpu(4) == 4096);     // 393 MiB: all
  CHECK(on_gpu(8) == 4096);     // 512 MiB hold 5336 rows; 2 chunks
  CHECK(on_gpu(32) == 6592);    // 768 MiB hold 8004 rows; 5 chunks
  CHECK(on_gpu(64) == 13120);   // 1.5 GiB hold 16008 rows; 5 chunks
  CHECK(on_gpu(128) == 18752);  // never above 2 GiB, which hold 21345 rows; 7 chunks
}

TEST_CASE("head and loss in one take no more scratch than they say", "[kernels]") {
  const std::int64_t R = GENERATE(83, 84, 640, 650), C = 1, V = 50257;
  const Tensor input = random_tensor<float>({R, C}, 1), weight = random_tensor<float>({V, C}, 2),
               targets = Tensor::zeros({R}, DType::kInt32), losses = Tensor::empty({R});
  reset_peak();
  const std::size_t before = allocator_statistics().bytes_in_use;
  linear_cross_entropy(losses, {}, {}, Write::kOverwrite, input, weight, targets, 1.0);
  const std::size_t scratch = allocator_statistics().peak_bytes_in_use - before;
  const std::int64_t expected_rows = rows_of_logits(R, C, V, DType::kFloat32);
  CHECK(static_cast<double>(scratch) == Approx(static_cast<double>(expected_rows * V * 4)).epsilon(0.01));
}

TEST_CASE("a target outside the vocabulary is named", "[kernels]") {
  const Tensor targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 10}, {2}), losses = Tensor::empty({2});
  CHECK_THROWS_WITH(cross_entropy_loss(losses, Tensor::zeros({2, 10}), targets),
                    ContainsSubstring("target 10 of row 1"));
}

TEST_CASE("mean squared error and its gradient agree with finite differences", "[kernels]") {
  const Tensor y = random_tensor<double>({4, 2}, 1), target = random_tensor<double>({4, 2}, 2), gradient = y.clone();
  const Values expected = finite_differences(y, [&] { return 3 * mean_squared_error({}, y, target); });
  const double loss = mean_squared_error(gradient, y, target, 3.0);
  CHECK(largest_difference(gradient, expected) < kFiniteDifferenceTolerance);
  double by_hand = 0;
  for (std::size_t i = 0; i < 8; ++i) by_hand += std::pow(values_of(y)[i] - values_of(target)[i], 2) / 8;
  CHECK(std::abs(loss - by_hand) < 1e-14);
  CHECK(mean_squared_error({}, Tensor::empty({0, 2}), Tensor::empty({0, 2})) == 0);
}

TEST_CASE("sum adds all elements in double precision", "[kernels]") {
  const Tensor x = random_tensor<float>({50'001}, 1);
  double expected = 0;
  for (const double value : values_of(x)) expected += value;
  CHECK(std::abs(sum(x) - expected) < 1e-9);
}

namespace {

/// Some columns of a matrix, in float64.
Tensor columns_of(const Tensor& matrix, std::int64_t first, std::int64_t columns) {
  const std::int64_t rows = matrix.shape()[0], width = matrix.shape()[1];
  const Tensor part = Tensor::empty({rows, columns}, DType::kFloat64);
  for (std::int64_t i = 0; i < rows * columns; ++i)
    part.span<double>()[i] = matrix.span<double>()[i / columns * width + first + i % columns];
  return part;
}

}  // namespace

TEST_CASE("parts of the columns together give the loss and its gradient", "[kernels]") {
  const std::int64_t R = 5, V = 37;
  const Tensor logits = random_tensor<double>({R, V}, 1, 20.0), targets = random_ids({R}, V, 2);
  const std::vector<std::int32_t> chosen{0, 11, 12, kIgnoredTarget};  // both sides of a border
  std::copy(chosen.begin(), chosen.end(), targets.span<std::int32_t>().begin());
  const Tensor losses = Tensor::empty({R}, DType::kFloat64), gradient = logits.clone();
  softmax_cross_entropy(losses, gradient, targets, 0.25);

  const std::vector<Range> parts{{0, 12}, {12, 13}, {13, V}};
  std::vector<Values> statistics;
  for (const Range part : parts) {
    const Tensor own = Tensor::empty({R, 3}, DType::kFloat64);
    cross_entropy_statistics(own, columns_of(logits, part.begin, part.count()), targets,
                             {.first = part.begin, .whole = V});
    statistics.push_back(values_of(own));
  }
  const Tensor whole = Tensor::zeros({R, 3}, DType::kFloat64);
  for (std::size_t row = 0; row < static_cast<std::size_t>(R); ++row) {
    double largest = -INFINITY, sum = 0, target = 0;
    for (const Values& one : statistics) largest = std::max(largest, one[3 * row]);
    for (const Values& one : statistics) sum += one[3 * row + 1] * std::exp(one[3 * row] - largest);
    for (const Values& one : statistics) target += one[3 * row + 2];
    whole.span<double>()[3 * row] = largest;
    whole.span<double>()[3 * row + 1] = sum;
    const double loss = targets.span<std::int32_t>()[row] == kIgnoredTarget ? 0 : std::log(sum) + largest - target;
    CHECK(std::abs(loss - losses.span<double>()[row]) < 1e-13);
  }
  for (const Range part : parts) {
    const Tensor own = columns_of(logits, part.begin, part.count());
    cross_entropy_gradient(own, whole, targets, {.first = part.begin, .whole = V}, 0.25);
    CHECK(largest_difference(own, values_of(columns_of(gradient, part.begin, part.count()))) < 1e-14);
  }
}

TEST_CASE("a part of the columns refuses what is not in the vocabulary", "[kernels]") {
  const Tensor logits = Tensor::zeros({1, 4}), statistics = Tensor::empty({1, 3});
  const auto of = [&](std::int32_t target, std::int64_t first) {
    cross_entropy_statistics(statistics, logits, Tensor::from<std::int32_t>(std::vector<std::int32_t>{target}, {1}),
                             {.first = first, .whole = 10});
  };
  CHECK_NOTHROW(of(9, 6));
  CHECK_THROWS_WITH(of(10, 6), ContainsSubstring("target 10 of row 0 is not in [0, 10)"));
  CHECK_THROWS_WITH(of(9, 7), ContainsSubstring("tokens 7 to 11 of a vocabulary of 10"));
}
