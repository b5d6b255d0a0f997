#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

template <typename In, typename Out>
void multiply_matrices(const Array& out, const ConstArray& a, Transpose a_transpose, const ConstArray& b,
                       Transpose b_transpose, const ConstArray& bias, Write write) {
  run(Gemm<In, Out>{.out = out.as<Out>(),
                    .a = a.as<In>(),
                    .a_transpose = a_transpose,
                    .b = b.as<In>(),
                    .b_transpose = b_transpose,
                    .rows = out.rows,
                    .columns = out.columns,
                    .inner = a_transpose == Transpose::kYes ? a.rows : a.columns,
                    .write = write,
                    .bias = bias.as<Compute<In>>()});
}

/// Matrix number `index` of `count` in an array.
template <typename T>
BasicArray<T> matrix_at(const BasicArray<T>& array, std::int64_t index, std::int64_t count) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  auto* const data = static_cast<Byte*>(array.data) +
                     array.bytes() / static_cast<std::size_t>(count) * static_cast<std::size_t>(index);
  return {data, array.rows / count, array.columns, array.dtype};
}

}  // namespace

void matmul(Array out, ConstArray a, Transpose a_transpose, ConstArray b, Transpose b_transpose, ConstArray bias,
            Write write, Context) {
  on_storage_type(out, [&]<typename Out, typename>() {
    if constexpr (std::is_same_v<Out, float>) {
      if (a.dtype == DType::kBFloat16) {
        return multiply_matrices<BFloat16, float>(out, a, a_transpose, b, b_transpose, bias, write);
      }
    }
    multiply_matrices<Out, Out>(out, a, a_transpose, b, b_transpose, bias, write);
  });
}

void batched_matmul(Array out, ConstArray a, Transpose a_transpose, ConstArray b, Transpose b_transpose,
                    std::int64_t batch, Write write, Context context) {
  for (std::int64_t i = 0; i < batch; ++i) {
    matmul({matrix_at(out, i, batch)}, matrix_at(a, i, batch), a_transpose, matrix_at(b, i, batch), b_transpose, {},
           write, context);
  }
}

void bias_gradient(Array bias_gradient, Write write, ConstArray out_gradient, Context) {
  on_storage_type(out_gradient, [&]<typename S, typename T>() {
    const std::int64_t columns = out_gradient.columns;
    const S* const gradient = out_gradient.as<S>();
    column_sums<T, 1>({bias_gradient.as<T>()}, write, out_gradient.rows, columns,
                      [=](std::int64_t begin, std::int64_t end, const std::array<T*, 1>& sums) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          for_each_vector<T>(columns, [=, from = gradient + row * columns](std::int64_t c, auto lanes) {
                            store(sums[0] + c, load(sums[0] + c, lanes) + load(from + c, lanes), lanes);
                          });
                        }
                      });
  });
}

}  // namespace lockstep::kernels::cpu
