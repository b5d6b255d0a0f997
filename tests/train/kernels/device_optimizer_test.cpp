#include "kernels/device_testing.hpp"
#include "kernels/optimizer.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// The tolerance of one step against the CPU's: a GPU fuses products and sums, which moves each intermediate result by
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
        device.ops().adam_step(parameter, first, second, device.put(g, skipped), AdamConstants(options), nullptr,
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
        device.ops().sgd_step(parameter, velocity, device.put(g), options, nullptr, device.context());
        sgd_step(p.span<float>(), speed.is_defined() ? speed.span<float>() : std::span<float>(), g.span<float>(),
                 options);
        CHECK(worst_error(device.get(parameter), p) <= kStepTolerance);
        if (speed.is_defined()) CHECK(worst_error(device.get(velocity), speed) <= kStepTolerance);
      }
    }
  }
}

// As PyTorch's found_inf: what is wrong with the gradients may be known on the device long before the host learns it.
TEST_CASE("a veto that is not 0 keeps an update from changing anything, wherever it runs", "[kernels][gpu]") {
  for (const Device device : {Device{}, test::accelerator()}) {
    const auto on_device = [&](std::uint64_t key) { return random_tensor<float>({2051}, key).to(device); };
    for (const std::int64_t value : {0, 1, -3}) {
      const Tensor veto = Tensor::from<std::int64_t>(std::vector<std::int64_t>{value}, {1}).to(device);
      const Tensor p = on_device(1), m = on_device(2), v = second_moments(2051).to(device), g = on_device(4);
      adam_step(p, m, v, g, {}, veto);
      CHECK(equal_bits(p.to(Device{}), random_tensor<float>({2051}, 1)) == (value != 0));
      CHECK(equal_bits(m.to(Device{}), random_tensor<float>({2051}, 2)) == (value != 0));
      CHECK(equal_bits(v.to(Device{}), second_moments(2051)) == (value != 0));
      const Tensor q = on_device(5), velocity = on_device(6);
      sgd_step(q, velocity, g, {.learning_rate = 0.1, .momentum = 0.9}, veto);
      CHECK(equal_bits(q.to(Device{}), random_tensor<float>({2051}, 5)) == (value != 0));
      CHECK(equal_bits(velocity.to(Device{}), random_tensor<float>({2051}, 6)) == (value != 0));
    }
  }
}

TEST_CASE("a veto is one int64 on the device of the others", "[kernels][gpu]") {
  const Device device = test::accelerator();
  const Tensor p = random_tensor<float>({4}, 1).to(device);
  const auto with = [&](const Tensor& veto) { sgd_step(p, {}, p, {.learning_rate = 0.1}, veto); };
  CHECK_THROWS_AS(with(Tensor::from<std::int64_t>(std::vector<std::int64_t>{0, 0}, {2}).to(device)), ContractError);
  CHECK_THROWS_AS(with(Tensor::from<std::int32_t>(std::vector<std::int32_t>{0}, {1}).to(device)), ContractError);
  CHECK_THROWS_AS(with(Tensor::from<std::int64_t>(std::vector<std::int64_t>{0}, {1})), ContractError);
}
