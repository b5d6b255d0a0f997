// Uses Eigen; the library's export list keeps its templates internal.
#include <Eigen/Core>
#include <cmath>
#include <cstring>
#include <iostream>
#include <numbers>

#include "base/bfloat16.hpp"
#include "base/float16.hpp"
#include "base/text.hpp"
#include "emulator/checker/shadow.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/product.hpp"
#include "emulator/runtime/reports.hpp"
#include "emulator/runtime/transfer.hpp"

namespace lockstep::emulator {
namespace {

using Values = Eigen::MatrixXf;

// One matrix of a batch, at the runtime's alias of its address.
struct Stored {
  Stored(const Matrix& matrix_, std::int64_t batch) : matrix(matrix_) {
    matrix.data += batch * matrix.stride * static_cast<std::int64_t>(element_bytes(matrix.type));
    alias = alias_of(matrix.data);
  }
  [[nodiscard]] std::int64_t place(std::int64_t row, std::int64_t column) const {
    return matrix.is_row_major ? row * matrix.leading + column : column * matrix.leading + row;
  }
  Matrix matrix;
  std::byte* alias = nullptr;
};

float element(const Stored& stored, std::int64_t i) {
  if (stored.matrix.type == CUDA_R_16BF) return to_float(reinterpret_cast<const BFloat16*>(stored.alias)[i]);
  if (stored.matrix.type == CUDA_R_16F) return to_float(reinterpret_cast<const Float16*>(stored.alias)[i]);
  return reinterpret_cast<const float*>(stored.alias)[i];
}

void set_element(const Stored& stored, std::int64_t i, float value) {
  if (stored.matrix.type == CUDA_R_16BF) {
    reinterpret_cast<BFloat16*>(stored.alias)[i] = to_bfloat16(value);
  } else if (stored.matrix.type == CUDA_R_16F) {
    reinterpret_cast<Float16*>(stored.alias)[i] = to_float16(value);
  } else {
    reinterpret_cast<float*>(stored.alias)[i] = value;
  }
}

Values load(const Matrix& matrix, std::int64_t batch) {
  if (is_empty(matrix)) return Values(matrix.rows, matrix.columns);
  const Stored stored(matrix, batch);
  host_read(stored.matrix.data, span_bytes(matrix));
  Values values(matrix.rows, matrix.columns);
  for (std::int64_t column = 0; column < matrix.columns; ++column) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      values(row, column) = element(stored, stored.place(row, column));
    }
  }
  return values;
}

// Reports only the elements: the gaps between columns may belong to other data.
void tell_written(const Matrix& matrix) {
  const bool is_dense = matrix.leading == (matrix.is_row_major ? matrix.columns : matrix.rows);
  if (is_dense) return host_wrote(matrix.data, span_bytes(matrix));
  const std::int64_t lines = matrix.is_row_major ? matrix.rows : matrix.columns;
  const auto bytes = static_cast<std::int64_t>(element_bytes(matrix.type));
  const std::int64_t line_bytes = (matrix.is_row_major ? matrix.columns : matrix.rows) * bytes;
  for (std::int64_t line = 0; line < lines; ++line) {
    host_wrote(matrix.data + line * matrix.leading * bytes, static_cast<std::size_t>(line_bytes));
  }
}

void store(const Values& values, const Matrix& matrix, std::int64_t batch) {
  const Stored stored(matrix, batch);
  for (std::int64_t column = 0; column < values.cols(); ++column) {
    for (std::int64_t row = 0; row < values.rows(); ++row) {
      set_element(stored, stored.place(row, column), values(row, column));
    }
  }
  tell_written(stored.matrix);
}

// The tanh approximation: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
// Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2.
constexpr float kCubic = 0.044715F;
const float kScale = std::sqrt(2.0F * std::numbers::inv_pi_v<float>);

float gelu(float x) { return 0.5F * x * (1.0F + std::tanh(kScale * (x + kCubic * x * x * x))); }

float gelu_derivative(float x) {
  const float tanh = std::tanh(kScale * (x + kCubic * x * x * x));
  return 0.5F * (1.0F + tanh) + 0.5F * x * (1.0F - tanh * tanh) * kScale * (1.0F + 3.0F * kCubic * x * x);
}

void finish(const Product& product, Values& values, std::int64_t batch) {
  const unsigned bits = product.epilogue;
  if ((bits & epilogue::kBias) != 0) values.colwise() += load(product.bias, batch).col(0);
  if ((bits & epilogue::kRelu) != 0) values = values.cwiseMax(0.0F);
  if ((bits & epilogue::kGelu) != 0) {
    if ((bits & epilogue::kAuxiliary) != 0) store(values, product.auxiliary, batch);
    values = values.unaryExpr(&gelu);
  }
  if ((bits & epilogue::kGeluBackward) != 0) {
    values = values.cwiseProduct(load(product.auxiliary, batch).unaryExpr(&gelu_derivative));
  }
  if ((bits & epilogue::kSumOfRows) != 0) store(values.rowwise().sum(), product.bias, batch);
}

float value_of(const Factor& factor) {
  if (factor.address == nullptr) return factor.value;
  float value = 0.0F;
  std::memcpy(&value, alias_of(factor.address), sizeof value);
  return value;
}

void compute_one(const Product& product, std::int64_t batch) {
  Values a = load(product.a, batch);
  Values b = load(product.b, batch);
  if (product.is_a_transposed) a.transposeInPlace();
  if (product.is_b_transposed) b.transposeInPlace();
  Values values(product.d.rows, product.d.columns);
  values.noalias() = value_of(product.alpha) * a * b;
  const float beta = value_of(product.beta);
  if (beta != 0.0F) values += beta * load(product.c, batch);
  finish(product, values, batch);
  if ((product.epilogue & epilogue::kSumOfA) != 0) store(a.rowwise().sum(), product.bias, batch);
  if ((product.epilogue & epilogue::kSumOfB) != 0) store(b.colwise().sum().transpose(), product.bias, batch);
  store(values, product.d, batch);
}

void require_on_device(const Matrix& matrix, std::int64_t batch_count) {
  if (matrix.data == nullptr || is_empty(matrix)) return;
  api_require(place_of(matrix.data) != MemoryPlace::kPageable, cudaErrorIllegalAddress, "a matrix lies in host memory");
  const auto others = static_cast<std::size_t>((batch_count - 1) * matrix.stride) * element_bytes(matrix.type);
  require_inside(matrix.data, others + span_bytes(matrix));
}

}  // namespace

cudaError_t compute(const Product& product) {
  try {
    for (const Matrix& matrix : {product.a, product.b, product.d, product.bias, product.auxiliary}) {
      require_on_device(matrix, product.batch_count);
    }
    if (value_of(product.beta) != 0.0F) require_on_device(product.c, product.batch_count);
    for (std::int64_t batch = 0; batch < product.batch_count; ++batch) compute_one(product, batch);
    return cudaSuccess;
  } catch (const ApiError& error) {
    std::cerr << concat("emulated device: ", product.name, ": ", error.why, "\n");
    return cudaErrorIllegalAddress;
  }
}

}  // namespace lockstep::emulator
