#include "kernels/device_testing.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/loss.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// Targets of R rows, the second ignored if there is one.
Tensor targets_of(std::int64_t R, std::int64_t V) {
  const Tensor targets = random_ids({R}, V, 9);
  if (R > 1) targets.span<std::int32_t>()[1] = kIgnoredTarget;
  return targets;
}

}  // namespace

TEST_CASE("device cross-entropy and its gradient agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [R, V] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 31}, {5, 33}, {2, 64}, {3, 2049}, {2, 5003}}) {
      TestDevice device;
      const Tensor logits = random_stored(dtype, {R, V}, 1, 3.0), targets = targets_of(R, V);
      const Tensor wide = doubled(logits), expected = Tensor::empty({R}, DType::kFloat64);
      const Array input = device.put(logits), losses = device.make(Tensor::empty({R})), ids = device.put(targets);
      device.ops().cross_entropy_loss(losses, input, ids, device.context());
      cross_entropy_loss(expected, wide, targets);
      // A sum of V exponentials in float32, added by 512 threads and a tree: V / 512 + 14 roundoffs, and those of
      // arguments up to 24 below the largest. The logarithm turns a relative error into an absolute one.
      const double bound = (static_cast<double>(V) / 512 + 64) * 0x1p-24;
      CHECK(worst_error(device.get(losses), expected) <= bound);
      CHECK(equal_bits(device.get(input), logits.reshape({R, V})));
      device.ops().softmax_cross_entropy(losses, input, ids, 0.5, device.context());
      softmax_cross_entropy(expected, wide, targets, 0.5);
      CHECK(worst_error(device.get(losses), expected) <= bound);
      CHECK(worst_error(device.get(input), wide) <= bound + store_error(dtype));
    }
  }
}

TEST_CASE("device losses of rows with infinities are those of the CPU", "[kernels][gpu]") {
  TestDevice device;
  const Tensor logits = random_tensor<float>({5, 33}, 1);
  const std::span<float> values = logits.span<float>();
  values[3] = NAN;                                                  // row 0
  values[33 + 4] = INFINITY;                                        // row 1
  for (std::size_t c = 0; c < 20; ++c) values[66 + c] = -INFINITY;  // row 2: masked in part, the first threads' share
  for (std::size_t c = 0; c < 33; ++c) values[99 + c] = -INFINITY;  // row 3: wholly
  const Tensor targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 1, 30, 2, 3}, {5});
  const Tensor wide = doubled(logits), expected = Tensor::empty({5}, DType::kFloat64);
  const Array input = device.put(logits), losses = device.make(Tensor::empty({5}));
  device.ops().softmax_cross_entropy(losses, input, device.put(targets), 1.0, device.context());
  softmax_cross_entropy(expected, wide, targets, 1.0);
  CHECK(worst_error(device.get(losses), expected) <= 64 * 0x1p-24);
  const Values gradient = values_of(device.get(input)), wanted = values_of(wide);
  for (std::size_t i = 66; i < 99; ++i) CHECK(std::abs(gradient[i] - wanted[i]) <= 64 * 0x1p-24);
  for (std::size_t i = 132; i < 165; ++i) CHECK(std::abs(gradient[i] - wanted[i]) <= 64 * 0x1p-24);
  for (std::size_t i = 0; i < 33; ++i) CHECK(std::isnan(gradient[i]));
}

TEST_CASE("a device notes the first target out of range and counts it as ignored", "[kernels][gpu]") {
  TestDevice device;
  const Tensor logits = random_tensor<float>({3, 4}, 1);
  const Tensor targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{kIgnoredTarget, 4, -7}, {3});
  const Array input = device.put(logits), losses = device.make(Tensor::empty({3}));
  device.ops().softmax_cross_entropy(losses, input, device.put(targets), 1.0, device.context());
  CHECK(device.faults().target == ((1ULL << 32) | 4U));
  CHECK(values_of(device.get(losses)) == Values(3, 0.0));
  CHECK(values_of(device.get(input)) == Values(12, 0.0));
}

TEST_CASE("device statistics and gradients of some columns agree with float64", "[kernels][gpu]") {
  constexpr std::int64_t R = 4, V = 5000;
  const Tensor targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{70, kIgnoredTarget, 69, 4999}, {R});
  for (const DType dtype : kStoredTypes) {
    for (const std::int64_t columns : {1, 33, 64, 2049}) {
      TestDevice device;
      const VocabularyPart part{.first = 70, .whole = V};
      const Tensor logits = random_stored(dtype, {R, columns}, 1, 3.0), wide = doubled(logits);
      const Tensor expected = Tensor::empty({R, 3}, DType::kFloat64);
      const Array input = device.put(logits), found = device.make(Tensor::empty({R, 3})), ids = device.put(targets);
      device.ops().cross_entropy_statistics(found, input, ids, part, device.context());
      cross_entropy_statistics(expected, wide, targets, part);
      const double bound = (static_cast<double>(columns) / 512 + 64) * 0x1p-24;
      CHECK(worst_error(device.get(found), expected) <= bound);
      CHECK(equal_bits(device.get(input), logits));
      device.ops().cross_entropy_gradient(input, found, ids, part, 0.5, device.context());
      cross_entropy_gradient(wide, expected, targets, part, 0.5);
      CHECK(worst_error(device.get(input), wide) <= bound + store_error(dtype));
      CHECK(device.faults().target == DeviceFaults::kNone);
    }
  }
}

TEST_CASE("a device notes a target outside the whole vocabulary, not one of another part", "[kernels][gpu]") {
  TestDevice device;
  const Tensor logits = random_tensor<float>({3, 4}, 1);
  const Tensor targets = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 9, 10}, {3});
  const Array input = device.put(logits), statistics = device.make(Tensor::empty({3, 3}));
  device.ops().cross_entropy_statistics(statistics, input, device.put(targets), {2, 10}, device.context());
  CHECK(device.faults().target == ((2ULL << 32) | 10U));
  const Values found = values_of(device.get(statistics));
  CHECK(std::all_of(found.begin() + 6, found.end(), [](double value) { return value == 0.0; }));
}
