#include <optional>

#include "device/stream.hpp"
#include "kernels/device_testing.hpp"
#include "kernels/dropout.hpp"
#include "support/catch.hpp"
#include "support/stream_gate.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

TEST_CASE("a device drops the elements that the CPU drops, to the bit", "[kernels][gpu]") {
  const std::vector<std::int64_t> ids{7, 123456789012, 0};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const std::int64_t count : {1, 15, 31, 33, 64, 65, 1100}) {
      for (const float probability : {0.1F, 0.5F}) {
        TestDevice device;
        const DropoutMask mask{.probability = probability, .key = 99, .sample_ids = ids};
        const Tensor x = random_stored(dtype, {3, count}, 1), residual = random_stored(dtype, {3, count}, 2);
        const Tensor expected = Tensor::empty({3, count}, dtype);
        const Array input = device.put(x), out = device.make(x);
        device.ops().dropout_forward(out, input, device.mask(mask), {}, device.context());
        dropout_forward(expected, x, mask);
        CHECK(equal_bits(device.get(out), expected));
        device.ops().dropout_forward(out, input, device.mask(mask), device.put(residual), device.context());
        dropout_forward(expected, x, mask, residual);
        // A GPU may keep the product unrounded before the sum.
        CHECK(worst_error(device.get(out), expected) <= 2 * roundoff_of(dtype));
      }
    }
  }
}

TEST_CASE("device dropout drops infinities, and without a mask adds", "[kernels][gpu]") {
  TestDevice device;
  const std::vector<std::int64_t> ids{3};
  const DropoutMask mask{.probability = 0.5F, .key = 5, .sample_ids = ids};
  const Tensor x = Tensor::from<float>(std::vector<float>(65, INFINITY), {1, 65}), expected = Tensor::empty({1, 65});
  const Array out = device.make(x);
  device.ops().dropout_forward(out, device.put(x), device.mask(mask), {}, device.context());
  dropout_forward(expected, x, mask);
  CHECK(equal_bits(device.get(out), expected));
  const Tensor a = random_tensor<float>({1, 65}, 1), b = random_tensor<float>({1, 65}, 2);
  device.ops().dropout_forward(out, device.put(a), {}, device.put(b), device.context());
  dropout_forward(expected, a, {}, b);
  CHECK(equal_bits(device.get(out), expected));
  device.ops().dropout_forward(out, device.put(a), {}, {}, device.context());
  CHECK(equal_bits(device.get(out), a));
}

// CUDA gives the handle of an ended stream to the next one. What has been issued to the first may not have run.
TEST_CASE("a stream brings its own sample ids, though its handle has had them before", "[kernels][gpu]") {
  const Device device = test::accelerator();
  const std::vector<std::int64_t> other_ids{1, 2}, ids{3, 5};
  const DropoutMask other_mask{.probability = 0.5F, .key = 5, .sample_ids = other_ids};
  const DropoutMask mask{.probability = 0.5F, .key = 5, .sample_ids = ids};
  const Tensor x = random_tensor<float>({2, 300}, 1), expected = Tensor::empty({2, 300});
  const Tensor there = x.to(device), early = Tensor::empty({2, 300}, DType::kFloat32, device);
  const Tensor late = Tensor::empty({2, 300}, DType::kFloat32, device);
  dropout_forward(expected, x, mask);
  std::optional<Stream> first(std::in_place, device);
  std::optional<test::StreamGate> gate;
  Event end(device);
  {
    const StreamGuard guard(*first);
    dropout_forward(early, there, other_mask);
    first->synchronize();
    gate.emplace(*first);
    dropout_forward(early, there, mask);
    end.record(*first);
  }
  first.reset();
  const Stream second(device);
  const StreamGuard guard(second);
  dropout_forward(late, there, mask);
  CHECK(equal_bits(late.to(Device{}), expected));
  gate->open();
  end.synchronize();
  CHECK(equal_bits(early.to(Device{}), expected));
}
