#include "kernels/device_testing.hpp"
#include "kernels/loss.hpp"
#include "kernels/matmul.hpp"
#include "kernels/optimizer.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

TEST_CASE("device sums and norms agree with the CPU in double precision", "[kernels][gpu]") {
  for (const std::int64_t count : {0, 1, 31, 33, 65, 4097, 20001}) {
    for (const std::int64_t skipped : {0, 1}) {
      TestDevice device;
      const Tensor x = random_tensor<float>({count}, 1);
      const Array values = device.put(x, skipped);
      double* const number = device.number();
      // Both add in double precision, in different orders: count roundoffs of 2^-53 of a sum of order count.
      const double bound = static_cast<double>(count * count) * 0x1p-53;
      device.ops().sum(number, values, device.context());
      CHECK(std::abs(device.read(number) - sum(x)) <= bound);
      device.ops().squared_norm(number, values, device.context());
      CHECK(std::abs(device.read(number) - squared_norm(x.span<float>())) <= bound);
      device.ops().count_non_finite(number, values, device.context());
      CHECK(device.read(number) == 0.0);
    }
  }
}

TEST_CASE("a device counts what is NaN or infinite", "[kernels][gpu]") {
  TestDevice device;
  const Tensor x = random_tensor<float>({5000}, 1);
  put_special_values(x);
  x.span<float>()[4999] = NAN;
  double* const number = device.number();
  device.ops().count_non_finite(number, device.put(x), device.context());
  CHECK(device.read(number) == 4.0);
  device.ops().squared_norm(number, device.put(x), device.context());
  CHECK(std::isnan(device.read(number)));
}

TEST_CASE("NaN and infinities are counted by the part in which they lie, wherever that is", "[kernels][gpu]") {
  using Counts = std::vector<std::int64_t>;
  const auto counts = [](const Counts& values) { return Tensor::from<std::int64_t>(values, {std::ssize(values)}); };
  for (const Device device : {Device{}, test::accelerator()}) {
    for (const std::int64_t skipped : {0, 1}) {  // a view that begins at an odd element, as parameters in buckets do
      const Tensor x = random_tensor<float>({5001}, 1);
      for (const std::size_t bad : {0, 69, 70, 71, 4095, 4096, 4990, 5000})
        x.span<float>()[bad] = bad % 2 ? NAN : -INFINITY;
      const Tensor there = x.to(device);
      const Tensor values =
          Tensor::view_of(there.storage(), static_cast<std::size_t>(4 * skipped), {5001 - skipped}, DType::kFloat32);
      // Part 1 is empty, part 3 has one element; the last elements belong to no part.
      const Tensor ends = counts({70 - skipped, 70 - skipped, 4096 - skipped, 4097 - skipped, 4995 - skipped});
      const Tensor total = counts({100}).to(device), by_part = counts({0, 0, 5, 0, 0}).to(device);
      count_non_finite_by_part(total, by_part, values, ends.to(device));
      CHECK(total.to(Device{}).span<std::int64_t>()[0] == 108 - skipped);
      const Tensor seen = by_part.to(Device{});
      const std::span<const std::int64_t> found = seen.span<std::int64_t>();
      CHECK(Counts(found.begin(), found.end()) == Counts{2 - skipped, 0, 8, 1, 1});
    }
  }
}

TEST_CASE("device squared errors and their gradient agree with float64", "[kernels][gpu]") {
  for (const std::int64_t count : {1, 31, 33, 5000}) {
    TestDevice device;
    const Tensor y = random_tensor<float>({count}, 1), wanted = random_tensor<float>({count}, 2);
    const Tensor expected = Tensor::empty({count}, DType::kFloat64);
    const double mean = mean_squared_error(expected, doubled(y), doubled(wanted), 1.0);
    const Array gradient = device.make(y);
    double* const number = device.number();
    device.ops().squared_error(number, gradient, device.put(y), device.put(wanted), 2.0 / static_cast<double>(count),
                               device.context());
    // A difference of two numbers below 5 is rounded once, by 2^-22 at most, and then squared.
    CHECK(std::abs(device.read(number) / static_cast<double>(count) - mean) <= 20 * 0x1p-22);
    CHECK(worst_error(device.get(gradient), expected) <= 4 * 0x1p-24 * 8 / static_cast<double>(count) + 0x1p-24);
  }
}

TEST_CASE("the device gradient of a bias agrees with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [R, N] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {31, 33}, {65, 64}, {300, 130}, {1030, 31}, {129, 257}}) {
      for (const Write write : {Write::kOverwrite, Write::kAdd}) {
        TestDevice device;
        const Tensor dy = random_stored(dtype, {R, N}, 1), before = random_tensor<float>({N}, 2);
        const Tensor expected = doubled(before);
        const Array gradient = device.put(before);
        device.ops().bias_gradient(gradient, write, device.put(dy), device.context());
        bias_gradient(expected, write, doubled(dy));
        // Eight groups of rows in blocks: about R / 8 + 24 roundoffs of partial sums of order sqrt(R).
        const double rows = static_cast<double>(R);
        CHECK(worst_error(device.get(gradient), expected) <= (rows / 8 + 24) * std::sqrt(rows) * 0x1p-24);
      }
    }
  }
}
