#include "kernels/cpu/check.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/ops.hpp"

namespace lockstep::kernels::cpu {

namespace {

/// Calls body(In{}, Out{}) with the element types of a product's operands and result.
template <typename Body>
void on_product_types(std::string_view operation, const Tensor& out, const Tensor& a, const Body& body) {
  on_device_and_storage_type(operation, out, [&](auto result) {
    using Out = decltype(result);
    if constexpr (!std::is_same_v<Out, double>) {
      if (a.dtype() == DType::kBFloat16) return body(BFloat16{}, result);
    }
    if constexpr (std::is_same_v<Out, BFloat16>) {
      throw ContractError(concat(operation, ": ", a.dtype(), " operands cannot have a bfloat16 result"));
    } else {
      body(Out{}, result);
    }
  });
}

}  // namespace

void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write) {
  on_product_types("matmul", out, a, [&](auto in, auto result) {
    using In = decltype(in);
    using Out = decltype(result);
    const bool a_flipped = a_transpose == Transpose::kYes, b_flipped = b_transpose == Transpose::kYes;
    const std::int64_t rows = a_flipped ? columns_of(a) : rows_of(a);
    const std::int64_t inner = a_flipped ? rows_of(a) : columns_of(a);
    const std::int64_t columns = b_flipped ? rows_of(b) : columns_of(b);
    require(a.dtype() == dtype_of<In> && b.dtype() == dtype_of<In> &&
                inner == (b_flipped ? columns_of(b) : rows_of(b)) && rows_of(out) == rows && columns_of(out) == columns,
            "matmul: ", a.dtype(), " ", a.shape(), a_flipped ? "^T" : "", " times ", b.dtype(), " ", b.shape(),
            b_flipped ? "^T" : "", " does not fit ", out.dtype(), " ", out.shape());
    run(Gemm<In, Out>{.out = data_of<Out>(out),
                      .a = data_of<const In>(a),
                      .a_transpose = a_transpose,
                      .b = data_of<const In>(b),
                      .b_transpose = b_transpose,
                      .rows = rows,
                      .columns = columns,
                      .inner = inner,
                      .write = write});
  });
}

void linear_forward(const Tensor& out, const Tensor& input, const Tensor& weight, Transpose weight_transpose,
                    const Tensor& bias) {
  if (!bias.is_defined()) return cpu::matmul(out, input, Transpose::kNo, weight, weight_transpose, Write::kOverwrite);
  on_product_types("linear_forward", out, input, [&](auto in, auto result) {
    using In = decltype(in);
    using Out = decltype(result);
    const bool is_flipped = weight_transpose == Transpose::kYes;
    const std::int64_t columns = is_flipped ? rows_of(weight) : columns_of(weight);
    require_count("linear_forward", "bias", bias, columns, accumulation_dtype(input.dtype()));
    require(input.dtype() == dtype_of<In> && weight.dtype() == dtype_of<In> && rows_of(out) == rows_of(input) &&
                columns_of(out) == columns && columns_of(input) == (is_flipped ? columns_of(weight) : rows_of(weight)),
            "linear_forward: input ", input.dtype(), " ", input.shape(), " and weight ", weight.dtype(), " ",
            weight.shape(), is_flipped ? "^T" : "", " do not fit out ", out.dtype(), " ", out.shape());
    run(Gemm<In, Out>{.out = data_of<Out>(out),
                      .a = data_of<const In>(input),
                      .a_transpose = Transpose::kNo,
                      .b = data_of<const In>(weight),
                      .b_transpose = weight_transpose,
                      .rows = rows_of(out),
                      .columns = columns,
                      .inner = columns_of(input),
                      .bias = data_of<const Compute<In>>(bias)});
  });
}

void bias_gradient(const Tensor& bias_gradient, Write write, const Tensor& out_gradient) {
  on_device_and_storage_type("bias_gradient", out_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    const std::int64_t columns = columns_of(out_gradient);
    require_count("bias_gradient", "bias gradient", bias_gradient, columns, dtype_of<T>);
    const S* const gradient = data_of<S>(out_gradient);
    column_sums<T, 1>({data_of<T>(bias_gradient)}, write, rows_of(out_gradient), columns,
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
