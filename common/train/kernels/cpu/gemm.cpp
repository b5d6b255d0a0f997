#include "kernels/cpu/gemm.hpp"

#include <Eigen/Core>

#include "base/error.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/threads.hpp"

#ifdef LOCKSTEP_HAVE_ONEDNN
#include "kernels/cpu/gemm_onednn.hpp"
#endif

namespace lockstep::kernels {

namespace {

constexpr std::int64_t kConvertedBlock = 8192;  // elements per task

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

/// An operand in float32.
Tensor widened_operand(const BFloat16* data, std::int64_t count) {
  Tensor wide = Tensor::empty({count});
  float* const to = data_of<float>(wide);
  parallel_blocks(count, kConvertedBlock, count, [=](std::int64_t begin, std::int64_t end) {
    for_each_vector<float>(
        end - begin, [=](std::int64_t i, auto lanes) { store(to + begin + i, load(data + begin + i, lanes), lanes); });
  });
  return wide;
}

/// The same rounding without bfloat16 instructions: a product of two bfloat16 values is exact in float32.
template <typename Out>
void run_emulated(const Gemm<BFloat16, Out>& gemm) {
  const std::int64_t count = gemm.rows * gemm.columns;
  const Tensor a = widened_operand(gemm.a, gemm.rows * gemm.inner);
  const Tensor b = widened_operand(gemm.b, gemm.inner * gemm.columns);
  const auto run_to = [&](float* out) {
    run(Gemm<float>{.out = out,
                    .a = data_of<float>(a),
                    .a_transpose = gemm.a_transpose,
                    .b = data_of<float>(b),
                    .b_transpose = gemm.b_transpose,
                    .rows = gemm.rows,
                    .columns = gemm.columns,
                    .inner = gemm.inner,
                    .write = gemm.write,
                    .bias = gemm.bias});
  };
  if constexpr (std::is_same_v<Out, float>) {
    run_to(gemm.out);
  } else {
    const Tensor wide = gemm.write == Write::kAdd ? widened_operand(gemm.out, count) : Tensor::empty({count});
    run_to(data_of<float>(wide));
    parallel_blocks(count, kConvertedBlock, count,
                    [&, from = data_of<float>(wide)](std::int64_t begin, std::int64_t end) {
                      for_each_vector<float>(end - begin, [&](std::int64_t i, auto lanes) {
                        store(gemm.out + begin + i, load(from + begin + i, lanes), lanes);
                      });
                    });
  }
}

template <typename Out>
void run_bfloat16(const Gemm<BFloat16, Out>& gemm) {
  if (gemm.rows == 0 || gemm.columns == 0) return;
#ifdef LOCKSTEP_HAVE_ONEDNN
  if (gemm.inner > 0 && has_bfloat16_products()) return run_on_onednn(gemm);
#endif
  run_emulated(gemm);
}

}  // namespace

bool has_bfloat16_products() noexcept {
#ifdef LOCKSTEP_HAVE_ONEDNN
  static const bool is_native = onednn_multiplies_bfloat16();
  return is_native;
#else
  return false;
#endif
}

std::string matrix_library() {
#ifdef LOCKSTEP_HAVE_ONEDNN
  return onednn_version();
#else
  return concat("Eigen ", EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".", EIGEN_MINOR_VERSION);
#endif
}

void run(const Gemm<BFloat16>& gemm) { run_bfloat16(gemm); }
void run(const Gemm<BFloat16, float>& gemm) { run_bfloat16(gemm); }

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
