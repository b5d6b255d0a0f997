#include "kernels/device_testing.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/layer_norm.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

struct LayerNormSizes {
  std::int64_t R, C;
};
const std::vector<LayerNormSizes> kLayerNormSizes{{1, 1},   {3, 31},   {9, 33},   {2, 64},
                                                  {17, 65}, {5, 1024}, {3, 1032}, {2, 1501}};
// Rows for a warp (aligned, up to 1024 channels) and for a block; blocks of one row, of three and of six.
const std::vector<LayerNormSizes> kBackwardSizes{{1, 1},    {3, 31},   {2, 64},    {17, 65},   {2, 768}, {3, 1024},
                                                 {3, 1032}, {2, 1501}, {1030, 33}, {1030, 40}, {2570, 8}};

/// Statistics computed in float64 on the host, in device memory.
Array put_as_float(TestDevice& device, const Tensor& wide) {
  const Values values = values_of(wide);
  return device.put(Tensor::from<float>(std::vector<float>(values.begin(), values.end()), wide.shape()));
}

}  // namespace

TEST_CASE("device layer norm agrees with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [R, C] : kLayerNormSizes) {
      TestDevice device;
      const Tensor a = random_stored(dtype, {R, C}, 1), b = random_stored(dtype, {R, C}, 2);
      const Tensor gain = random_tensor<float>({C}, 3), bias = random_tensor<float>({C}, 4);
      const Tensor expected = Tensor::empty({R, C}, DType::kFloat64), row = Tensor::empty({R});
      const auto statistics = LayerNormStatistics::for_rows_of(expected);
      const Array mean = device.make(row), deviation = device.make(row);
      const Array out = device.make(a), sum = device.make(a), gains = device.put(gain), biases = device.put(bias);
      // A normalized element is below sqrt(C), gains below 4. Mean and deviation carry about sqrt(C) + 8 roundoffs of
      // order 1, and dividing by a deviation of order 1 keeps them; bfloat16 rounds the store of up to 4 sqrt(C).
      const double size = std::sqrt(static_cast<double>(C));
      const double bound = 4 * (size + 8) * 8 * 0x1p-24 + store_error(dtype);
      device.ops().layer_norm_forward(out, mean, deviation, device.put(a), gains, biases, 1e-5, device.context());
      layer_norm_forward(expected, statistics, doubled(a), doubled(gain), doubled(bias), 1e-5);
      CHECK(worst_error(device.get(out), expected) <= bound);
      CHECK(worst_error(device.get(mean), statistics.mean) <= bound);
      CHECK(worst_error(device.get(deviation), statistics.reciprocal_deviation) <= bound);
      device.ops().add_layer_norm_forward(out, sum, mean, deviation, device.put(a), device.put(b), gains, biases, 1e-5,
                                          device.context());
      // The sum is stored before it is normalized, so the reference normalizes what was stored.
      const Tensor stored = device.get(sum), exact = Tensor::empty({R, C}, DType::kFloat64);
      add(exact, doubled(a), doubled(b));
      CHECK(worst_error(stored, exact) <= roundoff_of(dtype));
      layer_norm_forward(expected, statistics, doubled(stored), doubled(gain), doubled(bias), 1e-5);
      CHECK(worst_error(device.get(out), expected) <= bound);
    }
  }
}

TEST_CASE("device gradients of layer norm agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [R, C] : kBackwardSizes) {
      TestDevice device;
      const Tensor x = random_stored(dtype, {R, C}, 1), dy = random_stored(dtype, {R, C}, 2);
      const Tensor skip = random_stored(dtype, {R, C}, 3), gain = random_tensor<float>({C}, 4);
      const Tensor before = random_tensor<float>({C}, 5), unused = Tensor::empty({R, C}, DType::kFloat64);
      const auto statistics = LayerNormStatistics::for_rows_of(unused);
      layer_norm_forward(unused, statistics, doubled(x), doubled(gain), doubled(gain), 1e-5);
      const Array mean = put_as_float(device, statistics.mean);
      const Array deviation = put_as_float(device, statistics.reciprocal_deviation);
      const double rounding = store_error(dtype);
      // Rows of one channel are divided by sqrt(epsilon), which turns roundoffs of 1 into ones of 300.
      const double size = std::sqrt(static_cast<double>(C)), amplified = C == 1 ? 300.0 : 1.0;
      const double bound = amplified * 64 * (size + 8) * 0x1p-24 + rounding;
      for (const Write write : {Write::kOverwrite, Write::kAdd}) {
        const Tensor expected = Tensor::empty({R, C}, DType::kFloat64), to_gain = doubled(before);
        const Tensor to_bias = doubled(before);
        const bool has_skip = write == Write::kAdd;
        layer_norm_backward(expected, doubled(dy), statistics, doubled(x), doubled(gain), to_gain, to_bias, write,
                            has_skip ? doubled(skip) : Tensor());
        const Array out = device.make(x), gain_gradient = device.put(before), bias_gradient = device.put(before);
        device.ops().layer_norm_backward(out, device.put(dy), mean, deviation, device.put(x), device.put(gain),
                                         gain_gradient, bias_gradient, write, has_skip ? device.put(skip) : Array{},
                                         device.context());
        CHECK(worst_error(device.get(out), expected) <= bound);
        // A sum of R terms of order 1, up to sqrt(C) each: R roundoffs of the largest partial sum, itself sqrt(R).
        const double sums = 8 * (std::sqrt(static_cast<double>(R)) + 8) * (size + 1) * 0x1p-24;
        CHECK(worst_error(device.get(gain_gradient), to_gain) <= amplified * sums);
        CHECK(worst_error(device.get(bias_gradient), to_bias) <= sums);
      }
    }
  }
}

TEST_CASE("a NaN stays in its row of a device layer norm", "[kernels][gpu]") {
  TestDevice device;
  const Tensor x = random_tensor<float>({3, 33}, 1), ones = Tensor::from<float>(std::vector<float>(33, 1.0F), {33});
  x.span<float>()[40] = NAN;  // row 1
  const Tensor row = Tensor::empty({3});
  const Array out = device.make(x);
  device.ops().layer_norm_forward(out, device.make(row), device.make(row), device.put(x), device.put(ones),
                                  device.put(ones), 1e-5, device.context());
  const Values result = values_of(device.get(out));
  for (std::size_t i = 0; i < result.size(); ++i) CHECK(std::isnan(result[i]) == (i / 33 == 1));
}
