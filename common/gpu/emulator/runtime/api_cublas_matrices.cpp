#include <algorithm>
#include <cstddef>
#include <vector>

#include "emulator/cuda/cublas_v2.h"
#include "emulator/runtime/blas_operand.hpp"
#include "emulator/runtime/handles.hpp"

namespace {

using namespace lockstep::emulator;

// Columns of `rows` elements, as cublasSetMatrix and its relatives copy them.
struct Columns {
  int rows, columns, element_bytes;
};

cublasStatus_t copy_columns(const char* name, Columns shape, const void* from, int from_leading, void* to,
                            int to_leading, cudaMemcpyKind kind) {
  return blas_call(name, [&] {
    const int least = std::max(1, shape.rows);
    if (shape.rows < 0 || shape.columns < 0 || shape.element_bytes <= 0 || from_leading < least || to_leading < least)
      return CUBLAS_STATUS_INVALID_VALUE;
    const auto bytes = static_cast<std::size_t>(shape.element_bytes);
    Transfer copy{name, {}};
    copy.to = static_cast<std::byte*>(to);
    copy.to_pitch = static_cast<std::size_t>(to_leading) * bytes;
    copy.from = static_cast<const std::byte*>(from);
    copy.from_pitch = static_cast<std::size_t>(from_leading) * bytes;
    copy.width = static_cast<std::size_t>(shape.rows) * bytes;
    copy.height = static_cast<std::size_t>(shape.columns);
    transfer(copy, kind, Handles::instance().queue(nullptr), HostWaits::kAsSynchronousCall);
    return CUBLAS_STATUS_SUCCESS;
  });
}

// y = beta y, without reading y if beta is 0.
template <typename T>
std::vector<T> scaled(const Operand<T>& operand, T beta) {
  if (beta == T{0}) return std::vector<T>(static_cast<std::size_t>(operand.rows * operand.columns));
  std::vector<T> values = load(operand);
  for (T& value : values) value *= beta;
  return values;
}

template <typename T>
cublasStatus_t gemv(const char* name, cublasHandle_t handle, cublasOperation_t operation, int m, int n, const T* alpha,
                    const T* a, int lda, const T* x, int x_increment, const T* beta, T* y, int y_increment) {
  return with_handle(name, handle, [&] {
    if (m < 0 || n < 0 || lda < std::max(1, m) || x_increment == 0 || y_increment == 0)
      return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const bool is_transposed = operation != CUBLAS_OP_N;
    const Scalar<T> product_factor(handle, alpha), old_factor(handle, beta);
    const Operand<T> matrix = matrix_operand(a, m, n, lda);
    const Operand<T> from = vector_operand(x, is_transposed ? m : n, x_increment);
    const Operand<T> to = vector_operand(y, is_transposed ? n : m, y_increment);
    run_in_stream(name, handle, {access(matrix, false), access(from, false), access(to, true)}, [=] {
      const std::vector<T> elements = load(matrix), vector = load(from);
      std::vector<T> values = scaled(to, old_factor.value());
      const auto rows = static_cast<std::size_t>(matrix.rows);
      for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = 0.0;
        for (std::size_t k = 0; k < vector.size(); ++k) {
          sum += double{elements[is_transposed ? i * rows + k : k * rows + i]} * double{vector[k]};
        }
        values[i] += product_factor.value() * static_cast<T>(sum);
      }
      store(to, values);
    });
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <typename T>
cublasStatus_t ger(const char* name, cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_increment,
                   const T* y, int y_increment, T* a, int lda) {
  return with_handle(name, handle, [&] {
    if (m < 0 || n < 0 || lda < std::max(1, m) || x_increment == 0 || y_increment == 0)
      return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const Scalar<T> factor(handle, alpha);
    const Operand<T> column = vector_operand(x, m, x_increment), row = vector_operand(y, n, y_increment);
    const Operand<T> matrix = matrix_operand(a, m, n, lda);
    run_in_stream(name, handle, {access(column, false), access(row, false), access(matrix, true)}, [=] {
      const std::vector<T> left = load(column), right = load(row);
      std::vector<T> values = load(matrix);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += factor.value() * left[i % left.size()] * right[i / left.size()];
      store(matrix, values);
    });
    return CUBLAS_STATUS_SUCCESS;
  });
}

// The elements of op(matrix), column by column.
std::vector<double> load_operand(const Operand<double>& matrix, bool is_transposed) {
  std::vector<double> stored = load(matrix);
  if (!is_transposed) return stored;
  const auto rows = static_cast<std::size_t>(matrix.rows), columns = static_cast<std::size_t>(matrix.columns);
  std::vector<double> values(stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) values[i % rows * columns + i / rows] = stored[i];
  return values;
}

}  // namespace

cublasStatus_t cublasSetVector(int n, int element_bytes, const void* x, int incx, void* device_y, int incy) {
  return copy_columns("cublasSetVector", {1, n, element_bytes}, x, incx, device_y, incy, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetVector(int n, int element_bytes, const void* device_x, int incx, void* y, int incy) {
  return copy_columns("cublasGetVector", {1, n, element_bytes}, device_x, incx, y, incy, cudaMemcpyDeviceToHost);
}

cublasStatus_t cublasSetMatrix(int rows, int columns, int element_bytes, const void* a, int lda, void* device_b,
                               int ldb) {
  return copy_columns("cublasSetMatrix", {rows, columns, element_bytes}, a, lda, device_b, ldb, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetMatrix(int rows, int columns, int element_bytes, const void* device_a, int lda, void* b,
                               int ldb) {
  return copy_columns("cublasGetMatrix", {rows, columns, element_bytes}, device_a, lda, b, ldb, cudaMemcpyDeviceToHost);
}

cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n, const float* alpha,
                           const float* a, int lda, const float* x, int incx, const float* beta, float* y, int incy) {
  return gemv("cublasSgemv", handle, operation, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

cublasStatus_t cublasDgemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n, const double* alpha,
                           const double* a, int lda, const double* x, int incx, const double* beta, double* y,
                           int incy) {
  return gemv("cublasDgemv", handle, operation, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

cublasStatus_t cublasSger(cublasHandle_t handle, int m, int n, const float* alpha, const float* x, int incx,
                          const float* y, int incy, float* a, int lda) {
  return ger("cublasSger", handle, m, n, alpha, x, incx, y, incy, a, lda);
}

cublasStatus_t cublasDger(cublasHandle_t handle, int m, int n, const double* alpha, const double* x, int incx,
                          const double* y, int incy, double* a, int lda) {
  return ger("cublasDger", handle, m, n, alpha, x, incx, y, incy, a, lda);
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b, int m,
                           int n, int k, const double* alpha, const double* a, int lda, const double* b, int ldb,
                           const double* beta, double* c, int ldc) {
  return with_handle("cublasDgemm", handle, [&] {
    const bool is_a_transposed = operation_a != CUBLAS_OP_N, is_b_transposed = operation_b != CUBLAS_OP_N;
    const int a_rows = is_a_transposed ? k : m, b_rows = is_b_transposed ? n : k;
    if (m < 0 || n < 0 || k < 0 || lda < std::max(1, a_rows) || ldb < std::max(1, b_rows) || ldc < std::max(1, m))
      return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const Scalar<double> product_factor(handle, alpha), old_factor(handle, beta);
    Operand<double> left, right;  // without terms, A and B may be null
    if (k > 0) {
      left = matrix_operand(a, a_rows, is_a_transposed ? m : k, lda);
      right = matrix_operand(b, b_rows, is_b_transposed ? k : n, ldb);
    }
    const Operand<double> to = matrix_operand(c, m, n, ldc);
    run_in_stream("cublasDgemm", handle, {access(left, false), access(right, false), access(to, true)}, [=] {
      const std::vector<double> first = load_operand(left, is_a_transposed);
      const std::vector<double> second = load_operand(right, is_b_transposed);
      std::vector<double> values = scaled(to, old_factor.value());
      const double factor = product_factor.value();
      const auto rows = static_cast<std::size_t>(m), terms = static_cast<std::size_t>(k);
      for (std::size_t term = 0; term < static_cast<std::size_t>(n) * terms; ++term) {
        const std::size_t column = term / terms, inner = term % terms;
        const double scale = factor * second[term];
        for (std::size_t row = 0; row < rows; ++row) values[column * rows + row] += scale * first[inner * rows + row];
      }
      store(to, values);
    });
    return CUBLAS_STATUS_SUCCESS;
  });
}
