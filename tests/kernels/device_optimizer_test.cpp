#include "kernels/device_testing.hpp"
#include "kernels/optimizer.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// What one step may differ by from the CPU's: a GPU fuses products and sums, which moves each intermediate result by
/// at most one roundoff; there are about ten, of order 1.
constexpr double kStepTolerance = 16 * 0x1p-24;

Tensor second_moments(std::int64_t count) {
  const Tensor moments = random_tensor<float>({count}, 3);
  for (float& value : moments.span<float>()) value *= value;
  return moments;
}

}  // namespace

TEST_CASE("device AdamW and Adam take the CPU's step", "[kernels][gpu]") {
  for (const std::int64_t count : {1, 31, 33, 65, 2051}) {
    for (const std::int64_t skipped : {0, 1}) {
      for (const WeightDecay kind : {WeightDecay::kDecoupled, WeightDecay::kInGradient}) {
        TestDevice device;
        const AdamOptions options{
            .learning_rate = 0.01, .weight_decay = 0.1, .decay_kind = kind, .step = 3, .gradient_scale = 0.7};
        const Tensor p = random_tensor<float>({count}, 1), m = random_tensor<float>({count}, 2);
        const Tensor v = second_moments(count), g = random_tensor<float>({count}, 4);
        const Array parameter = device.put(p, skipped), first = device.put(m, skipped), second = device.put(v, skipped);
        device.ops().adam_step(parameter, first, second, device.put(g, skipped), AdamConstants(options),
                               device.context());
        adam_step(p.span<float>(), m.span<float>(), v.span<float>(), g.span<float>(), options);
        CHECK(worst_error(device.get(parameter), p) <= kStepTolerance);
        CHECK(worst_error(device.get(first), m) <= kStepTolerance);
        CHECK(worst_error(device.get(second), v) <= kStepTolerance);
      }
    }
  }
}

TEST_CASE("device SGD takes the CPU's step, with and without momentum", "[kernels][gpu]") {
  for (const std::int64_t count : {1, 31, 33, 65, 2051}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const bool is_nesterov : {false, true}) {
        if (is_nesterov && momentum == 0.0) continue;
        TestDevice device;
        const SgdOptions options{
            .learning_rate = 0.1, .momentum = momentum, .weight_decay = 0.01, .is_nesterov = is_nesterov};
        const Tensor p = random_tensor<float>({count}, 1), g = random_tensor<float>({count}, 2);
        const Tensor speed = momentum == 0.0 ? Tensor() : random_tensor<float>({count}, 3);
        const Array parameter = device.put(p), velocity = device.put(speed);
        device.ops().sgd_step(parameter, velocity, device.put(g), options, device.context());
        sgd_step(p.span<float>(), speed.is_defined() ? speed.span<float>() : std::span<float>(), g.span<float>(),
                 options);
        CHECK(worst_error(device.get(parameter), p) <= kStepTolerance);
        if (speed.is_defined()) CHECK(worst_error(device.get(velocity), speed) <= kStepTolerance);
      }
    }
  }
}
