#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/runtime/device_matrix.hpp"

namespace {

using lockstep::emulator::test::DeviceMatrix;
using lockstep::emulator::test::product;
using lockstep::emulator::test::tolerance;
using Values = std::vector<std::vector<double>>;

constexpr int kM = 33;
constexpr int kN = 17;
constexpr int kK = 20;

// A product D = op(A) op(B) with one attribute after another set by the test.
class Matmul {
 public:
  Matmul() {
    REQUIRE(cublasLtCreate(&handle_) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference_) == CUBLAS_STATUS_SUCCESS);
  }
  ~Matmul() {
    cublasLtMatmulPreferenceDestroy(preference_);
    cublasLtMatmulDescDestroy(description_);
    cublasLtDestroy(handle_);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  template <typename T>
  Matmul& set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    REQUIRE(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
    return *this;
  }

  // D = alpha op(A) op(B) + beta D.
  cublasStatus_t run(const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& d, float alpha = 1.0F,
                     float beta = 0.0F) {
    const cublasLtMatrixLayout_t layouts[] = {layout_of(a), layout_of(b), layout_of(d)};
    cublasLtMatmulHeuristicResult_t choice{};
    int count = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, description_, layouts[0], layouts[1], layouts[2],
                                                           layouts[2], preference_, 1, &choice, &count);
    if (status == CUBLAS_STATUS_SUCCESS && count == 1) {
      status = multiply(a, b, d, layouts, alpha, beta, choice.algo);
    }
    for (const cublasLtMatrixLayout_t layout : layouts) cublasLtMatrixLayoutDestroy(layout);
    return status;
  }

  // All candidates for D = A B, with what multiplying by each of them says. @pre  None of the other attributes is set.
  std::vector<std::pair<cublasStatus_t, cublasStatus_t>> try_candidates(const DeviceMatrix& a, const DeviceMatrix& b,
                                                                        const DeviceMatrix& d) {
    const cublasLtMatrixLayout_t layouts[] = {layout_of(a), layout_of(b), layout_of(d)};
    std::array<cublasLtMatmulHeuristicResult_t, 8> candidates{};
    int count = 0;
    REQUIRE(cublasLtMatmulAlgoGetHeuristic(handle_, description_, layouts[0], layouts[1], layouts[2], layouts[2],
                                           preference_, 8, candidates.data(), &count) == CUBLAS_STATUS_SUCCESS);
    std::vector<std::pair<cublasStatus_t, cublasStatus_t>> results;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      results.emplace_back(candidates[i].state, multiply(a, b, d, layouts, 1.0F, 0.0F, candidates[i].algo));
    }
    for (const cublasLtMatrixLayout_t layout : layouts) cublasLtMatrixLayoutDestroy(layout);
    return results;
  }

 private:
  cublasStatus_t multiply(const DeviceMatrix& a, const DeviceMatrix& b, const DeviceMatrix& d,
                          const cublasLtMatrixLayout_t (&layouts)[3], float alpha, float beta,
                          const cublasLtMatmulAlgo_t& algorithm) {
    return cublasLtMatmul(handle_, description_, &alpha, a.data(), layouts[0], b.data(), layouts[1], &beta, d.data(),
                          layouts[2], d.data(), layouts[2], &algorithm, nullptr, 0, nullptr);
  }
  static cublasLtMatrixLayout_t layout_of(const DeviceMatrix& matrix) {
    cublasLtMatrixLayout_t layout = nullptr;
    REQUIRE(cublasLtMatrixLayoutCreate(&layout, matrix.type(), static_cast<std::uint64_t>(matrix.rows()),
                                       static_cast<std::uint64_t>(matrix.columns()),
                                       matrix.leading()) == CUBLAS_STATUS_SUCCESS);
    return layout;
  }
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

void check_close(const Values& seen, const Values& expected, int sums, cudaDataType type) {
  REQUIRE(seen.size() == expected.size());
  REQUIRE(seen[0].size() == expected[0].size());
  double worst = -1.0;
  for (std::size_t row = 0; row < seen.size(); ++row) {
    for (std::size_t column = 0; column < seen[0].size(); ++column) {
      const double error = std::abs(seen[row][column] - expected[row][column]);
      worst = std::max(worst, error - tolerance(sums, expected[row][column], type));
    }
  }
  CHECK(worst <= 0.0);
}

Values each(Values values, double (*function)(double)) {
  for (auto& row : values) {
    for (double& value : row) value = function(value);
  }
  return values;
}

// The tanh approximation in double, and its derivative by a central difference: with a step of 2^-17 the cubic term and
// the rounding of the quotient both stay below 1e-10.
double gelu(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
double gelu_derivative(double x) {
  constexpr double kStep = 1.0 / 131072.0;
  return (gelu(x + kStep) - gelu(x - kStep)) / (2.0 * kStep);
}

// Operands, as one type.
struct Operands {
  explicit Operands(cudaDataType type)
      : a(kM, kK, type), b(kK, kN, type), d(kM, kN, type), aux(kM, kN, type, 3), bias(kM, 1, type) {
    a.fill(1);
    b.fill(2);
    bias.fill(3);
  }
  DeviceMatrix a, b, d, aux, bias;
};

}  // namespace

TEST_CASE("cublasLtMatmul multiplies, scales and adds", "[emulator]") {
  const auto type = GENERATE(CUDA_R_32F, CUDA_R_16BF);
  Operands with(type);
  with.d.fill(4);
  const Values before = with.d.values();
  Values expected = product(with.a.values(), with.b.values());
  for (std::size_t row = 0; row < kM; ++row) {
    for (std::size_t column = 0; column < kN; ++column) {
      expected[row][column] = 0.5 * expected[row][column] + before[row][column];
    }
  }
  Matmul matmul;
  REQUIRE(matmul.run(with.a, with.b, with.d, 0.5F, 1.0F) == CUBLAS_STATUS_SUCCESS);
  check_close(with.d.values(), expected, kK, type);
}

TEST_CASE("cuBLASLt's look-alike gives a candidate that cannot be used before two that can", "[emulator]") {
  Operands with(CUDA_R_32F);
  Matmul matmul;
  const std::vector<std::pair<cublasStatus_t, cublasStatus_t>> expected{
      {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED},
      {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS},
      {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS}};
  CHECK(matmul.try_candidates(with.a, with.b, with.d) == expected);
}

TEST_CASE("cublasLtMatmul transposes its operands", "[emulator]") {
  Operands with(CUDA_R_32F);
  DeviceMatrix a(kK, kM, CUDA_R_32F);
  DeviceMatrix b(kN, kK, CUDA_R_32F);
  a.fill(5);
  b.fill(6);
  Matmul matmul;
  matmul.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T).set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
  REQUIRE(matmul.run(a, b, with.d) == CUBLAS_STATUS_SUCCESS);
  check_close(with.d.values(), product(a.values(true), b.values(true)), kK, CUDA_R_32F);
}

TEST_CASE("Epilogues add a bias, apply GELU and keep what it is applied to", "[emulator]") {
  const auto type = GENERATE(CUDA_R_32F, CUDA_R_16BF);
  const auto epilogue = GENERATE(CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  Operands with(type);
  Values before = product(with.a.values(), with.b.values());
  const Values bias = with.bias.values();
  for (std::size_t row = 0; row < kM; ++row) {
    for (double& value : before[row]) value += bias[row][0];
  }
  Matmul matmul;
  matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue).set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, with.bias.data());
  if (epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
    matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, with.aux.data());
    matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(with.aux.leading()));
  }
  REQUIRE(matmul.run(with.a, with.b, with.d) == CUBLAS_STATUS_SUCCESS);
  check_close(with.d.values(), epilogue == CUBLASLT_EPILOGUE_BIAS ? before : each(before, gelu), kK, type);
  if (epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) check_close(with.aux.values(), before, kK, type);
}

TEST_CASE("Epilogues go back through GELU, with the sum over columns for the bias", "[emulator]") {
  const auto type = GENERATE(CUDA_R_32F, CUDA_R_16BF);
  const auto epilogue = GENERATE(CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD);
  Operands with(type);
  with.aux.fill(7);
  Values expected = product(with.a.values(), with.b.values());
  const Values derivative = each(with.aux.values(), gelu_derivative);
  Values sums(kM, std::vector<double>(1));
  for (std::size_t row = 0; row < kM; ++row) {
    for (std::size_t column = 0; column < kN; ++column) {
      expected[row][column] *= derivative[row][column];
      sums[row][0] += expected[row][column];
    }
  }
  Matmul matmul;
  matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue).set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, with.aux.data());
  matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(with.aux.leading()));
  matmul.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, with.bias.data());
  REQUIRE(matmul.run(with.a, with.b, with.d) == CUBLAS_STATUS_SUCCESS);
  check_close(with.d.values(), expected, kK, type);
  // kN sums of kK products, each of which may be off.
  if (epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) check_close(with.bias.values(), sums, kK * kN, type);
}

TEST_CASE("Epilogues sum an operand over the inner dimension", "[emulator]") {
  const bool is_a = GENERATE(true, false);
  Operands with(CUDA_R_32F);
  DeviceMatrix sums(is_a ? kM : kN, 1, CUDA_R_32F);
  const Values operand = is_a ? with.a.values() : with.b.values(true);
  Values expected(operand.size(), std::vector<double>(1));
  for (std::size_t row = 0; row < operand.size(); ++row) {
    for (const double value : operand[row]) expected[row][0] += value;
  }
  Matmul matmul;
  matmul.set(CUBLASLT_MATMUL_DESC_EPILOGUE, is_a ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB);
  matmul.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.data());
  REQUIRE(matmul.run(with.a, with.b, with.d) == CUBLAS_STATUS_SUCCESS);
  check_close(with.d.values(), product(with.a.values(), with.b.values()), kK, CUDA_R_32F);
  check_close(sums.values(), expected, kK, CUDA_R_32F);
}

TEST_CASE("cublasLtMatmul refuses what does not fit", "[emulator]") {
  Operands with(CUDA_R_32F);
  CHECK(Matmul().run(with.b, with.b, with.d) == CUBLAS_STATUS_INVALID_VALUE);  // shapes
  Matmul without_bias;
  without_bias.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  CHECK(without_bias.run(with.a, with.b, with.d) == CUBLAS_STATUS_INVALID_VALUE);
  Matmul unknown;
  unknown.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{1024});
  CHECK(unknown.run(with.a, with.b, with.d) == CUBLAS_STATUS_NOT_SUPPORTED);
}
