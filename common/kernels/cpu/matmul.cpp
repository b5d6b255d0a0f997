#include "kernels/matmul.hpp"

#include "kernels/cpu/check.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/gemm.hpp"

namespace lockstep::kernels {

namespace {

Transpose flipped(Transpose transpose) { return transpose == Transpose::kNo ? Transpose::kYes : Transpose::kNo; }

}  // namespace

void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write) {
  on_device_and_type("matmul", out, [&](auto zero) {
    using T = decltype(zero);
    const bool a_flipped = a_transpose == Transpose::kYes, b_flipped = b_transpose == Transpose::kYes;
    const std::int64_t rows = a_flipped ? columns_of(a) : rows_of(a);
    const std::int64_t inner = a_flipped ? rows_of(a) : columns_of(a);
    const std::int64_t columns = b_flipped ? rows_of(b) : columns_of(b);
    require(a.dtype() == out.dtype() && b.dtype() == out.dtype() && inner == (b_flipped ? columns_of(b) : rows_of(b)) &&
                rows_of(out) == rows && columns_of(out) == columns,
            "matmul: ", a.dtype(), " ", a.shape(), a_flipped ? "^T" : "", " times ", b.dtype(), " ", b.shape(),
            b_flipped ? "^T" : "", " does not fit ", out.dtype(), " ", out.shape());
    run(Gemm<T>{.out = data_of<T>(out),
                .a = data_of<T>(a),
                .a_transpose = a_transpose,
                .b = data_of<T>(b),
                .b_transpose = b_transpose,
                .rows = rows,
                .columns = columns,
                .inner = inner,
                .write = write});
  });
}

void linear_forward(const Tensor& out, const Tensor& input, const Tensor& weight, Transpose weight_transpose,
                    const Tensor& bias) {
  if (!bias.is_defined()) return matmul(out, input, Transpose::kNo, weight, weight_transpose);
  on_device_and_type("linear_forward", out, [&](auto zero) {
    using T = decltype(zero);
    const bool is_flipped = weight_transpose == Transpose::kYes;
    const std::int64_t columns = is_flipped ? rows_of(weight) : columns_of(weight);
    require_count("linear_forward", "bias", bias, columns, out.dtype());
    require(input.dtype() == out.dtype() && weight.dtype() == out.dtype() && rows_of(out) == rows_of(input) &&
                columns_of(out) == columns && columns_of(input) == (is_flipped ? columns_of(weight) : rows_of(weight)),
            "linear_forward: input ", input.shape(), " and weight ", weight.shape(), is_flipped ? "^T" : "",
            " do not fit out ", out.shape());
    run(Gemm<T>{.out = data_of<T>(out),
                .a = data_of<T>(input),
                .a_transpose = Transpose::kNo,
                .b = data_of<T>(weight),
                .b_transpose = weight_transpose,
                .rows = rows_of(out),
                .columns = columns,
                .inner = columns_of(input),
                .bias = data_of<T>(bias)});
  });
}

void linear_input_gradient(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& weight,
                           Transpose weight_transpose) {
  matmul(input_gradient, out_gradient, Transpose::kNo, weight, flipped(weight_transpose), write);
}

void linear_weight_gradient(const Tensor& weight_gradient, Write write, const Tensor& input, const Tensor& out_gradient,
                            Transpose weight_transpose) {
  if (weight_transpose == Transpose::kNo) {
    matmul(weight_gradient, input, Transpose::kYes, out_gradient, Transpose::kNo, write);
  } else {
    matmul(weight_gradient, out_gradient, Transpose::kYes, input, Transpose::kNo, write);
  }
}

void bias_gradient(const Tensor& bias_gradient, Write write, const Tensor& out_gradient) {
  on_device_and_type("bias_gradient", out_gradient, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = columns_of(out_gradient);
    require_count("bias_gradient", "bias gradient", bias_gradient, columns, out_gradient.dtype());
    const T* const gradient = data_of<T>(out_gradient);
    column_sums<T, 1>({data_of<T>(bias_gradient)}, write, rows_of(out_gradient), columns,
                      [=](std::int64_t begin, std::int64_t end, const std::array<T*, 1>& sums) {
                        for (std::int64_t row = begin; row < end; ++row) {
                          const T* const from = gradient + row * columns;
                          for (std::int64_t column = 0; column < columns; ++column) sums[0][column] += from[column];
                        }
                      });
  });
}

}  // namespace lockstep::kernels
