#include <cmath>

#include "kernels/device_testing.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// Element types of the operands and the result.
struct Types {
  DType in, out;
};
const std::vector<Types> kTypes{{DType::kFloat32, DType::kFloat32},
                                {DType::kBFloat16, DType::kFloat32},
                                {DType::kBFloat16, DType::kBFloat16},
                                {DType::kFloat16, DType::kFloat32},
                                {DType::kFloat16, DType::kFloat16}};

struct MatmulSizes {
  std::int64_t M, N, K;
};
const std::vector<MatmulSizes> kMatmulSizes{{1, 1, 1}, {31, 33, 65}, {5, 64, 8}, {65, 7, 31}};

Tensor stored_as(Transpose transpose, DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t key) {
  return transpose == Transpose::kYes ? random_stored(dtype, {columns, rows}, key)
                                      : random_stored(dtype, {rows, columns}, key);
}

}  // namespace

TEST_CASE("device products of every layout and type agree with float64", "[kernels][gpu]") {
  for (const auto& [in, out_type] : kTypes) {
    for (const auto& [M, N, K] : kMatmulSizes) {
      for (const Transpose a_transpose : {Transpose::kNo, Transpose::kYes}) {
        for (const Transpose b_transpose : {Transpose::kNo, Transpose::kYes}) {
          for (const Write write : {Write::kOverwrite, Write::kAdd}) {
            TestDevice device;
            const Tensor a = stored_as(a_transpose, in, M, K, 1), b = stored_as(b_transpose, in, K, N, 2);
            const Tensor before = random_stored(out_type, {M, N}, 3), expected = doubled(before);
            const Array out = device.put(before);
            device.ops().matmul(out, device.put(a), a_transpose, device.put(b), b_transpose, {}, write,
                                device.context());
            matmul(expected, doubled(a), a_transpose, doubled(b), b_transpose, write);
            // K products of order 1 and their sum of order sqrt(K), in any order; the store rounds once. Where it adds,
            // cuBLAS may round the product first (seen on an H200 with M = 5, N = 64, K = 8): once more, at the size of
            // the product.
            const double product = write == Write::kAdd ? 4 * std::sqrt(static_cast<double>(K)) : 0;
            const double bound = 4 * static_cast<double>(K + 2) * 0x1p-24 + (1 + product) * roundoff_of(out_type);
            CAPTURE(name_of(in), name_of(out_type), M, N, K, a_transpose == Transpose::kYes,
                    b_transpose == Transpose::kYes, write == Write::kAdd);
            CHECK(worst_error(device.get(out), expected) <= bound);
          }
        }
      }
    }
  }
}

TEST_CASE("device products add a bias to every row", "[kernels][gpu]") {
  for (const auto& [in, out_type] : kTypes) {
    for (const auto& [M, N, K] : kMatmulSizes) {
      TestDevice device;
      const Tensor a = random_stored(in, {M, K}, 1), b = random_stored(in, {N, K}, 2);
      const Tensor bias = random_tensor<float>({N}, 3), expected = Tensor::empty({M, N}, DType::kFloat64);
      const Array out = device.make(random_stored(out_type, {M, N}, 4));
      device.ops().matmul(out, device.put(a), Transpose::kNo, device.put(b), Transpose::kYes, device.put(bias),
                          Write::kOverwrite, device.context());
      linear_forward(expected, doubled(a), doubled(b), Transpose::kYes, doubled(bias));
      // As above; a result of 16 bits takes a bias below 4 rounded to its type.
      const double rounding = out_type == DType::kFloat32 ? 0x1p-24 : 5 * roundoff_of(out_type);
      CHECK(worst_error(device.get(out), expected) <= 4 * static_cast<double>(K + 3) * 0x1p-24 + rounding);
    }
  }
}

TEST_CASE("a device product beyond float16's range is infinite", "[kernels][gpu]") {
  TestDevice device;
  const std::vector<float> factors{300.0F, 200.0F, -300.0F, 218.5F};  // times 300: 90000, 60000, -90000, 65550
  const Tensor a = Tensor::empty({4, 1}, DType::kFloat16), b = Tensor::empty({1, 1}, DType::kFloat16);
  cast(a, Tensor::from<float>(factors, {4, 1}));
  cast(b, Tensor::from<float>(std::vector<float>{300.0F}, {1, 1}));
  const Array out = device.make(Tensor::empty({4, 1}, DType::kFloat16));
  device.ops().matmul(out, device.put(a), Transpose::kNo, device.put(b), Transpose::kNo, {}, Write::kOverwrite,
                      device.context());
  CHECK(values_of(device.get(out)) == Values{INFINITY, 60000, -INFINITY, INFINITY});
}

TEST_CASE("a NaN in a device product reaches its row only", "[kernels][gpu]") {
  TestDevice device;
  const Tensor a = random_tensor<float>({5, 7}, 1), b = random_tensor<float>({7, 3}, 2), out = Tensor::empty({5, 3});
  a.span<float>()[2 * 7 + 3] = NAN;
  const Array result = device.make(out);
  device.ops().matmul(result, device.put(a), Transpose::kNo, device.put(b), Transpose::kNo, {}, Write::kOverwrite,
                      device.context());
  const Values values = values_of(device.get(result));
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::isnan(values[i]) == (i / 3 == 2));
}
