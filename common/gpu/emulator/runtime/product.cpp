#include "emulator/runtime/product.hpp"

#include <algorithm>
#include <utility>

#include "emulator/runtime/capture.hpp"

namespace lockstep::emulator {
namespace {

std::int64_t lines(const Matrix& matrix) { return matrix.is_row_major ? matrix.rows : matrix.columns; }
std::int64_t line_elements(const Matrix& matrix) { return matrix.is_row_major ? matrix.columns : matrix.rows; }

bool is_possible(const Matrix& matrix) {
  return matrix.data != nullptr && matrix.rows > 0 && matrix.columns > 0 && matrix.leading >= line_elements(matrix);
}

bool is_possible_operand(const Matrix& matrix, bool may_be_empty) {
  if (!may_be_empty || !is_empty(matrix)) return is_possible(matrix);
  return matrix.rows >= 0 && matrix.columns >= 0 && matrix.leading >= std::max<std::int64_t>(1, line_elements(matrix));
}

bool has_shape(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  return matrix.rows == rows && matrix.columns == columns;
}

// Matrices with gaps may interleave with others, so they are not compared.
void add_access(Operation& operation, const Product& product, const Matrix& matrix, bool is_write) {
  if (matrix.data == nullptr || is_empty(matrix) || product.batch_count != 1 || matrix.leading != line_elements(matrix))
    return;
  operation.accesses.push_back({matrix.data, span_bytes(matrix), is_write});
}

bool has_epilogue_operands(const Product& product) {
  const unsigned bits = product.epilogue;
  constexpr unsigned kWithVector = epilogue::kBias | epilogue::kSumOfRows | epilogue::kSumOfA | epilogue::kSumOfB;
  if ((bits & kWithVector) != 0 && product.bias.data == nullptr) return false;
  return (bits & epilogue::kAuxiliary) == 0 || is_possible(product.auxiliary);
}

}  // namespace

std::size_t element_bytes(cudaDataType type) {
  if (type == CUDA_R_32F) return sizeof(float);
  return type == CUDA_R_16BF || type == CUDA_R_16F ? sizeof(std::uint16_t) : 0;
}

std::size_t span_bytes(const Matrix& matrix) {
  if (is_empty(matrix)) return 0;
  const std::int64_t elements = (lines(matrix) - 1) * matrix.leading + line_elements(matrix);
  return static_cast<std::size_t>(elements) * element_bytes(matrix.type);
}

cublasStatus_t check(const Product& product) {
  for (const Matrix& matrix : {product.a, product.b, product.d}) {
    if (element_bytes(matrix.type) == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool may_be_empty = product.may_lack_terms;
  if (!is_possible_operand(product.a, may_be_empty) || !is_possible_operand(product.b, may_be_empty) ||
      !is_possible(product.d))
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto [m, k] = product.is_a_transposed ? std::pair(product.a.columns, product.a.rows)
                                              : std::pair(product.a.rows, product.a.columns);
  const auto [b_rows, n] = product.is_b_transposed ? std::pair(product.b.columns, product.b.rows)
                                                   : std::pair(product.b.rows, product.b.columns);
  const bool reads_c = product.beta.address != nullptr || product.beta.value != 0.0F;
  const bool is_shaped = b_rows == k && has_shape(product.d, m, n) && (!reads_c || has_shape(product.c, m, n));
  if (!is_shaped || product.batch_count < 1 || (reads_c && !is_possible(product.c))) return CUBLAS_STATUS_INVALID_VALUE;
  return has_epilogue_operands(product) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

void enqueue(const Product& product, const std::shared_ptr<StreamQueue>& queue) {
  Operation operation;
  operation.name = product.name;
  add_access(operation, product, product.a, false);
  add_access(operation, product, product.b, false);
  add_access(operation, product, product.d, true);
  operation.run = [product] { return compute(product); };
  issue(queue, std::move(operation));
}

}  // namespace lockstep::emulator
