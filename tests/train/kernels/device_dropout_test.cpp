#include <optional>

#include "device/stream.hpp"
#include "kernels/device_testing.hpp"
#include "kernels/dropout.hpp"
#include "kernels/elementwise.hpp"
#include "support/catch.hpp"
#include "support/stream_gate.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

Tensor stored_as(DType dtype, const Tensor& tensor) {
  const Tensor stored = Tensor::empty(tensor.shape(), dtype);
  cast(stored, tensor);
  return stored;
}

}  // namespace

TEST_CASE("a device drops the elements that the CPU drops, to the bit", "[kernels][gpu]") {
  const std::vector<std::int64_t> ids{7, 123456789012, 0};
  for (const DType dtype : kStoredTypes) {
    for (const std::int64_t count : {1, 15, 31, 33, 64, 65, 1100}) {
      for (const float probability : {0.1F, 0.5F}) {
        TestDevice device;
        const DropoutMask mask{.probability = probability, .key = 99, .sample_ids = ids};
        const Tensor x = random_stored(dtype, {3, count}, 1), residual = random_stored(dtype, {3, count}, 2);
        const Tensor wide = Tensor::empty({3, count});  // the CPU computes in float32, and rounds once
        const Array input = device.put(x), out = device.make(x);
        device.ops().dropout_forward(out, input, device.mask(mask), {}, device.context());
        dropout_forward(wide, stored_as(DType::kFloat32, x), mask);
        CHECK(equal_bits(device.get(out), stored_as(dtype, wide)));
        device.ops().dropout_forward(out, input, device.mask(mask), device.put(residual), device.context());
        dropout_forward(wide, stored_as(DType::kFloat32, x), mask, stored_as(DType::kFloat32, residual));
        // A GPU may keep the product unrounded before the sum.
        CHECK(worst_error(device.get(out), stored_as(dtype, wide)) <= 2 * roundoff_of(dtype));
      }
    }
  }
}

TEST_CASE("a device draws the masks of rows and of parts of samples that the CPU draws", "[kernels][gpu]") {
  const Device device = test::accelerator();
  const std::vector<std::int64_t> ids{7, 123456789012, 0};
  const auto check = [&](const DropoutMask& mask, const Tensor& x) {
    const Tensor expected = Tensor::empty(x.shape()), out = Tensor::empty(x.shape(), DType::kFloat32, device);
    dropout_forward(expected, x, mask);
    dropout_forward(out, x.to(device), mask);
    CHECK(equal_bits(out.to(Device{}), expected));
  };
  for (const std::int64_t columns : {5, 64, 130}) {
    for (const auto& [first_row, rows] :
         {std::pair{0, 1}, std::pair{3, 2}, std::pair{2, 9}, std::pair{9, 3}, std::pair{0, 12}}) {
      check({.probability = 0.4F, .key = 99, .sample_ids = ids, .rows_per_sample = 4, .first_row = first_row},
            random_tensor<float>({rows, columns}, 1));
    }
  }
  for (const std::int64_t first : {1, 63, 64, 1000}) {
    for (const std::int64_t count : {1, 64, 1100}) {
      check({.probability = 0.4F, .key = 99, .sample_ids = ids, .first_element = first},
            random_tensor<float>({3, count}, 1));
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

// CUDA gives the handle of an ended stream to the next one. Work issued to the first may not have run.
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
