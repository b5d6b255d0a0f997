#include "kernels/cpu/gemm.hpp"

#include <Eigen/Core>

#include "kernels/cpu/parallel.hpp"

#ifdef LOCKSTEP_HAVE_ONEDNN
#include "kernels/cpu/gemm_onednn.hpp"
#endif

namespace lockstep::kernels {

namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Calls body with `data` as a [rows, columns] expression, whichever way it is stored.
template <typename T, typename Body>
void with_operand(const T* data, Transpose transpose, std::int64_t rows, std::int64_t columns, const Body& body) {
  if (transpose == Transpose::kNo) {
    body(Eigen::Map<const Matrix<T>>(data, rows, columns));
  } else {
    body(Eigen::Map<const Matrix<T>>(data, columns, rows).transpose());
  }
}

template <typename T>
void run_on_eigen(const Gemm<T>& gemm) {
  Eigen::Map<Matrix<T>> out(gemm.out, gemm.rows, gemm.columns);
  if (gemm.write == Write::kOverwrite) {
    if (gemm.bias == nullptr)
      out.setZero();
    else
      out.rowwise() = Eigen::Map<const Eigen::Matrix<T, 1, Eigen::Dynamic>>(gemm.bias, gemm.columns);
  }
  with_operand(gemm.a, gemm.a_transpose, gemm.rows, gemm.inner, [&](const auto& a) {
    with_operand(gemm.b, gemm.b_transpose, gemm.inner, gemm.columns, [&](const auto& b) { out.noalias() += a * b; });
  });
}

}  // namespace

void run(const Gemm<float>& gemm) {
  if (gemm.rows == 0 || gemm.columns == 0) return;
#ifdef LOCKSTEP_HAVE_ONEDNN
  if (gemm.inner > 0) return run_on_onednn(gemm);
#endif
  run_on_eigen(gemm);
}

void run(const Gemm<double>& gemm) {
  if (gemm.rows == 0 || gemm.columns == 0) return;
  run_on_eigen(gemm);
}

}  // namespace lockstep::kernels
