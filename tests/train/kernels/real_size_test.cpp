// The kernels at the sizes of GPT-2 with 124 million parameters, where indices pass 2^31 bytes and libraries choose
// other algorithms than in small tests. On a GPU only; on the emulator the same at small sizes, which shows that the
// reference kernels are right.
#include <cmath>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/loss.hpp"
#include "kernels/matmul.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/reference_kernels.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

// R = B T rows, C = H D channels. None of the small sizes divides a tile.
struct Sizes {
  std::int64_t B, T, V, H, D;
  [[nodiscard]] std::int64_t R() const { return B * T; }
  [[nodiscard]] std::int64_t C() const { return H * D; }
};
constexpr Sizes kReal{8, 1024, 50304, 12, 64}, kSmall{2, 70, 1003, 3, 20};

// Unit roundoff of what is stored as `dtype`; arithmetic is float32.
double roundoff_of(DType dtype) { return dtype == DType::kBFloat16 ? 0x1p-8 : 0x1p-24; }

reference::View view_of(const Tensor& tensor) {
  if (!tensor.is_defined()) return {};
  const std::int64_t columns = tensor.shape()[-1];
  return {tensor.data(), tensor.count() / columns, columns, tensor.dtype()};
}

// Makes tensors on the device under test. Tensors without a given type are float32.
class RealSizes {
 public:
  const Device device = test::accelerator();  // first: ends the test as skipped if there is none
  const Sizes s = device.type == DeviceType::kCuda ? kReal : kSmall;

  RealSizes() { make_current(device); }
  ~RealSizes() { release_cached_memory(device); }
  RealSizes(const RealSizes&) = delete;
  RealSizes& operator=(const RealSizes&) = delete;

  [[nodiscard]] Tensor make(const Shape& shape, DType dtype = DType::kFloat32) const {
    return Tensor::empty(shape, dtype, device);
  }
  [[nodiscard]] Tensor random(const Shape& shape, DType dtype = DType::kFloat32) {
    const Tensor tensor = make(shape, dtype);
    reference::fill_random(view_of(tensor), ++key_);
    return tensor;
  }
  [[nodiscard]] Tensor random_ids(const Shape& shape) {
    const Tensor tensor = make(shape, DType::kInt32);
    reference::fill_random_ids(view_of(tensor), s.V, ++key_);
    return tensor;
  }
  [[nodiscard]] Tensor copy_of(const Tensor& tensor) const {
    const Tensor other = make(tensor.shape(), tensor.dtype());
    reference::copy(view_of(other), view_of(tensor));
    return other;
  }

 private:
  std::uint64_t key_ = 0;
};

// K products of numbers below 1, added in any order in float32, and one store.
double product_bound(std::int64_t K, DType out) { return 4 * static_cast<double>(K + 2) * 0x1p-24 + roundoff_of(out); }

void check_layer(RealSizes& on, DType dtype, std::int64_t inputs, std::int64_t outputs, DType out_type) {
  const std::int64_t R = on.s.R();
  const Tensor x = on.random({R, inputs}, dtype), weight = on.random({outputs, inputs}, dtype);
  const Tensor dy = on.random({R, outputs}, dtype), bias = on.random({outputs});
  const Tensor y = on.make({R, outputs}, out_type), dx = on.make({R, inputs}, dtype);
  linear_forward(y, x, weight, Transpose::kYes, bias);
  // A bfloat16 result takes a bias below 1 rounded to bfloat16.
  const double bias_rounding = out_type == DType::kBFloat16 ? 0x1p-9 : 0.0;
  CHECK(reference::product_error(view_of(y), {view_of(x)}, {view_of(weight), true}, view_of(bias), {}, 1.0) <=
        product_bound(inputs, out_type) + bias_rounding);
  linear_input_gradient(dx, Write::kOverwrite, dy, weight, Transpose::kYes);
  CHECK(reference::product_error(view_of(dx), {view_of(dy)}, {view_of(weight)}, {}, {}, 1.0) <=
        product_bound(outputs, dtype));
  const Tensor dw = on.random({outputs, inputs}), before = on.copy_of(dw), db = on.make({outputs});
  linear_weight_gradient(dw, Write::kAdd, x, dy, Transpose::kYes);
  CHECK(reference::product_error(view_of(dw), {view_of(dy), true}, {view_of(x)}, {}, view_of(before), 1.0) <=
        product_bound(R, DType::kFloat32));
  bias_gradient(db, Write::kOverwrite, dy);
  CHECK(reference::column_sum_error(view_of(db), view_of(dy), 1.0) <= product_bound(R, DType::kFloat32));
}

const std::vector<DType> kTypes{DType::kFloat32, DType::kBFloat16};

}  // namespace

TEST_CASE("products of a block's layers are right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    check_layer(on, dtype, on.s.C(), 3 * on.s.C(), dtype);
    check_layer(on, dtype, 4 * on.s.C(), on.s.C(), dtype);
  }
}

TEST_CASE("products with the vocabulary are right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    check_layer(on, dtype, on.s.C(), on.s.V, DType::kFloat32);
  }
}

TEST_CASE("attention is right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    const auto& [B, T, V, H, D] = on.s;
    const std::int64_t C = on.s.C();
    const Tensor qkv = on.random({B, T, 3 * C}, dtype), dy = on.random({B, T, C}, dtype);
    const Tensor y = on.make({B, T, C}, dtype), log_sum_exp = on.make({B, H, T}),
                 gradient = on.make({B, T, 3 * C}, dtype);
    causal_attention_forward(y, log_sum_exp, qkv, static_cast<int>(H));
    causal_attention_backward(gradient, dy, y, log_sum_exp, qkv, static_cast<int>(H));
    const reference::AttentionErrors errors = reference::attention_errors({.qkv = view_of(qkv),
                                                                           .out_gradient = view_of(dy),
                                                                           .out = view_of(y),
                                                                           .qkv_gradient = view_of(gradient),
                                                                           .samples = B,
                                                                           .heads = H},
                                                                          1.0);
    // Scores are sums of D products below 1, averages have weights that add up to 1: D + 16 roundoffs, four times over.
    // A key's gradient adds T terms weighted by probabilities that add up to order log T. In bfloat16 probabilities and
    // `out` are rounded before they are used: 2^-8 a few times over.
    const double rounding = dtype == DType::kBFloat16 ? 4 * 0x1p-8 : 0.0;
    const double bound = 4 * static_cast<double>(D + 16) * 0x1p-24;
    CHECK(errors.out <= bound + rounding);
    CHECK(errors.qkv_gradient <= 16 * bound + 4 * rounding);
  }
}

TEST_CASE("layer norm is right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    const std::int64_t R = on.s.R(), C = on.s.C();
    const Tensor x = on.random({R, C}, dtype), dy = on.random({R, C}, dtype), gain = on.random({C}),
                 bias = on.random({C});
    const Tensor y = on.make({R, C}, dtype), dx = on.make({R, C}, dtype), dgain = on.make({C}), dbias = on.make({C});
    const LayerNormStatistics statistics{on.make({R}), on.make({R})};
    layer_norm_forward(y, statistics, x, gain, bias, 1e-5);
    layer_norm_backward(dx, dy, statistics, x, gain, dgain, dbias, Write::kOverwrite);
    const reference::LayerNormErrors errors = reference::layer_norm_errors({.input = view_of(x),
                                                                            .gain = view_of(gain),
                                                                            .bias = view_of(bias),
                                                                            .out_gradient = view_of(dy),
                                                                            .out = view_of(y),
                                                                            .input_gradient = view_of(dx),
                                                                            .gain_gradient = view_of(dgain),
                                                                            .bias_gradient = view_of(dbias),
                                                                            .epsilon = 1e-5},
                                                                           1.0, 1.0);
    // Means of C numbers below 1 carry sqrt(C) + 8 roundoffs; what is normalized by a deviation of 0.6 is below 2.
    const double bound = 16 * (std::sqrt(static_cast<double>(C)) + 8) * 0x1p-24;
    const double rounding = dtype == DType::kBFloat16 ? 0x1p-8 : 0.0;
    CHECK(errors.out <= bound + rounding);
    CHECK(errors.input_gradient <= 4 * bound + rounding);
    const double sums = 4 * static_cast<double>(R) * 0x1p-24;
    CHECK(errors.gain_gradient <= sums + bound);
    CHECK(errors.bias_gradient <= sums);
  }
}

TEST_CASE("GELU is right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    const Shape shape{on.s.R(), 4 * on.s.C()};
    const Tensor x = on.random(shape, dtype), dy = on.random(shape, dtype), y = on.make(shape, dtype);
    gelu_forward(y, x);
    CHECK(reference::gelu_error(view_of(y), view_of(x), {}, 1.0) <= 16 * 0x1p-24 + roundoff_of(dtype));
    gelu_backward(y, Write::kOverwrite, dy, x);
    CHECK(reference::gelu_error(view_of(y), view_of(x), view_of(dy), 1.0) <= 32 * 0x1p-24 + roundoff_of(dtype));
  }
}

TEST_CASE("the loss over a vocabulary is right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    const std::int64_t R = on.s.R(), V = on.s.V;
    const Tensor logits = on.random({R, V}, dtype), gradient = on.copy_of(logits), targets = on.random_ids({R});
    const Tensor losses = on.make({R});
    softmax_cross_entropy(losses, gradient, targets, 1.0);
    const double least = 0.1 / static_cast<double>(V);  // logits are in [-1, 1): no probability is below
    const auto errors =
        reference::cross_entropy_errors(view_of(losses), view_of(gradient), view_of(logits), view_of(targets), least);
    // A sum of V exponentials in float32, added by 512 threads and a tree: V / 512 + 14 roundoffs, and a few of each.
    const double bound = (static_cast<double>(V) / 512 + 64) * 0x1p-24;
    CHECK(errors.losses <= bound);
    CHECK(errors.gradient <= 2 * bound + roundoff_of(dtype));
  }
}

TEST_CASE("embeddings are right at real sizes", "[kernels][gpu][real-size]") {
  for (const DType dtype : kTypes) {
    RealSizes on;
    const auto& [B, T, V, H, D] = on.s;
    const std::int64_t C = on.s.C();
    const Tensor tokens = on.random_ids({B, T}), table = on.random({V, C}), positions = on.random({T, C});
    const Tensor y = on.make({B, T, C}, dtype), dy = on.random({B, T, C}, dtype), gradient = on.make({V, C});
    embedding_forward(y, tokens, table, positions);
    CHECK(reference::embedding_error(view_of(y), view_of(tokens), view_of(table), view_of(positions), 1.0) <=
          2 * roundoff_of(dtype));
    embedding_token_gradient(gradient, Write::kOverwrite, dy, tokens);
    CHECK(reference::token_gradient_error(view_of(gradient), view_of(tokens), view_of(dy), 1.0) <=
          4 * static_cast<double>(B * T) * 0x1p-24);
  }
}

TEST_CASE("a norm is right at real sizes, and one number in it that is not finite is found",
          "[kernels][gpu][real-size]") {
  RealSizes on;
  const Tensor values = on.random({on.s.V, on.s.C()});
  const double expected = reference::squared_norm(view_of(values));
  const auto count = static_cast<double>(values.count());
  CHECK(std::abs(squared_norm(std::vector{values}) / expected - 1.0) <= count * 0x1p-53);
  CHECK(is_finite(values));
  const Tensor last =
      Tensor::view_of(values.storage(), static_cast<std::size_t>(values.bytes()) - sizeof(float), {1}, DType::kFloat32);
  fill(last, INFINITY);
  CHECK_FALSE(is_finite(values));
}
