#include <cmath>
#include <functional>
#include <vector>

#include "emulator/cuda/cublas_v2.h"
#include "emulator/runtime/blas_operand.hpp"

// Sums are double, as few roundings as a GPU's sum in any order.

namespace {

using namespace lockstep::emulator;

template <typename T>
cublasStatus_t axpy(const char* name, cublasHandle_t handle, int count, const T* alpha, const T* x, int x_increment,
                    T* y, int y_increment) {
  return with_handle(name, handle, [&] {
    if (count <= 0) return CUBLAS_STATUS_SUCCESS;
    if (y_increment == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    const Scalar<T> factor(handle, alpha);
    const Operand<T> from = vector_operand(x, count, x_increment), to = vector_operand(y, count, y_increment);
    run_in_stream(name, handle, {access(from, false), access(to, true)}, [=] {
      const T scale = factor.value();
      const std::vector<T> added = load(from);
      std::vector<T> values = load(to);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += scale * added[i];
      store(to, values);
    });
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <typename T>
cublasStatus_t scal(const char* name, cublasHandle_t handle, int count, const T* alpha, T* x, int increment) {
  return with_handle(name, handle, [&] {
    if (count <= 0 || increment <= 0) return CUBLAS_STATUS_SUCCESS;
    const Scalar<T> factor(handle, alpha);
    const Operand<T> to = vector_operand(x, count, increment);
    run_in_stream(name, handle, {access(to, true)}, [=] {
      std::vector<T> values = load(to);
      for (T& value : values) value *= factor.value();
      store(to, values);
    });
    return CUBLAS_STATUS_SUCCESS;
  });
}

enum class Move { kCopy, kSwap };

template <typename T>
cublasStatus_t move(const char* name, Move what, cublasHandle_t handle, int count, T* x, int x_increment, T* y,
                    int y_increment) {
  return with_handle(name, handle, [&] {
    if (count <= 0) return CUBLAS_STATUS_SUCCESS;
    const bool is_swap = what == Move::kSwap;
    if (y_increment == 0 || (is_swap && x_increment == 0)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const Operand<T> first = vector_operand(x, count, x_increment), second = vector_operand(y, count, y_increment);
    run_in_stream(name, handle, {access(first, is_swap), access(second, true)}, [=] {
      const std::vector<T> values = load(first);
      if (is_swap) store(first, load(second));
      store(second, values);
    });
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <typename T>
cublasStatus_t dot(const char* name, cublasHandle_t handle, int count, const T* x, int x_increment, const T* y,
                   int y_increment, T* result) {
  return with_handle(name, handle, [&] {
    if (count <= 0) {
      run_for_result<T>(
          name, handle, {}, [] { return T{0}; }, result);
      return CUBLAS_STATUS_SUCCESS;
    }
    const Operand<T> first = vector_operand(x, count, x_increment), second = vector_operand(y, count, y_increment);
    run_for_result<T>(
        name, handle, {access(first, false), access(second, false)},
        [=] {
          const std::vector<T> left = load(first), right = load(second);
          double sum = 0.0;
          for (std::size_t i = 0; i < left.size(); ++i) sum += double{left[i]} * double{right[i]};
          return static_cast<T>(sum);
        },
        result);
    return CUBLAS_STATUS_SUCCESS;
  });
}

// A number that one vector gives; of a vector without elements it is 0.
template <typename T, typename Result>
cublasStatus_t reduce(const char* name, cublasHandle_t handle, int count, const T* x, int increment, Result* result,
                      Result (*reduction)(const std::vector<T>&)) {
  return with_handle(name, handle, [&] {
    if (count <= 0 || increment <= 0) {
      run_for_result<Result>(
          name, handle, {}, [] { return Result{0}; }, result);
      return CUBLAS_STATUS_SUCCESS;
    }
    const Operand<T> from = vector_operand(x, count, increment);
    run_for_result<Result>(
        name, handle, {access(from, false)}, [=] { return reduction(load(from)); }, result);
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <typename T>
T length(const std::vector<T>& values) {
  double sum = 0.0;
  for (const T value : values) sum = std::hypot(sum, double{value});
  return static_cast<T>(sum);
}

template <typename T>
T absolute_sum(const std::vector<T>& values) {
  double sum = 0.0;
  for (const T value : values) sum += std::abs(double{value});
  return static_cast<T>(sum);
}

// The first element whose magnitude is the most extreme one, counted from 1.
template <typename T, typename Compare>
int extreme(const std::vector<T>& values, Compare is_more_extreme) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (is_more_extreme(std::abs(values[i]), std::abs(values[best]))) best = i;
  }
  return static_cast<int>(best) + 1;
}

template <typename T>
int largest(const std::vector<T>& values) {
  return extreme(values, std::greater<T>());
}

template <typename T>
int smallest(const std::vector<T>& values) {
  return extreme(values, std::less<T>());
}

}  // namespace

#define DEFINE_VECTOR_FUNCTIONS(S, s, T)                                                                               \
  cublasStatus_t cublas##S##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
    return axpy("cublas" #S "axpy", handle, n, alpha, x, incx, y, incy);                                               \
  }                                                                                                                    \
  cublasStatus_t cublas##S##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) {                       \
    return scal("cublas" #S "scal", handle, n, alpha, x, incx);                                                        \
  }                                                                                                                    \
  cublasStatus_t cublas##S##copy(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy) {                 \
    return move("cublas" #S "copy", Move::kCopy, handle, n, const_cast<T*>(x), incx, y, incy);                         \
  }                                                                                                                    \
  cublasStatus_t cublas##S##swap(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy) {                       \
    return move("cublas" #S "swap", Move::kSwap, handle, n, x, incx, y, incy);                                         \
  }                                                                                                                    \
  cublasStatus_t cublas##S##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result) { \
    return dot("cublas" #S "dot", handle, n, x, incx, y, incy, result);                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##S##nrm2(cublasHandle_t handle, int n, const T* x, int incx, T* result) {                      \
    return reduce("cublas" #S "nrm2", handle, n, x, incx, result, &length<T>);                                         \
  }                                                                                                                    \
  cublasStatus_t cublas##S##asum(cublasHandle_t handle, int n, const T* x, int incx, T* result) {                      \
    return reduce("cublas" #S "asum", handle, n, x, incx, result, &absolute_sum<T>);                                   \
  }                                                                                                                    \
  cublasStatus_t cublasI##s##amax(cublasHandle_t handle, int n, const T* x, int incx, int* result) {                   \
    return reduce("cublasI" #s "amax", handle, n, x, incx, result, &largest<T>);                                       \
  }                                                                                                                    \
  cublasStatus_t cublasI##s##amin(cublasHandle_t handle, int n, const T* x, int incx, int* result) {                   \
    return reduce("cublasI" #s "amin", handle, n, x, incx, result, &smallest<T>);                                      \
  }
DEFINE_VECTOR_FUNCTIONS(S, s, float)
DEFINE_VECTOR_FUNCTIONS(D, d, double)
