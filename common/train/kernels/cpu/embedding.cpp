#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

/// [B, T] tokens that embed into [B, T, C], all in [0, V).
void require_tokens(std::string_view operation, const Tensor& tokens, const Tensor& embedded, const Tensor& table) {
  require_count(operation, "tokens", tokens, rows_of(embedded), DType::kInt32);
  require(table.is_defined() && table.dtype() == accumulation_dtype(embedded.dtype()) &&
              columns_of(table) == columns_of(embedded),
          operation, ": table ", table.shape(), " does not fit ", embedded.shape());
  const std::span<const std::int32_t> ids = tokens.span<std::int32_t>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    require(ids[i] >= 0 && ids[i] < rows_of(table), operation, ": token ", ids[i], " at ", i, " is not in [0, ",
            rows_of(table), ")");
  }
}

/// sums[c] += row[c].
template <typename T, typename S>
void add_row(T* sums, const S* row, std::int64_t count) {
  for_each_vector<T>(
      count, [=](std::int64_t c, auto lanes) { store(sums + c, load(sums + c, lanes) + load(row + c, lanes), lanes); });
}

}  // namespace

void embedding_forward(const Tensor& out, const Tensor& tokens, const Tensor& token_table,
                       const Tensor& position_table) {
  on_device_and_storage_type("embedding_forward", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_tokens("embedding_forward", tokens, out, token_table);
    const std::int64_t channels = columns_of(out), rows = rows_of(out), length = columns_of(tokens);
    require(
        !position_table.is_defined() || (position_table.dtype() == dtype_of<T> &&
                                         columns_of(position_table) == channels && rows_of(position_table) >= length),
        "embedding_forward: position table ", position_table.shape(), " does not fit ", out.shape());
    S* const to = data_of<S>(out);
    const T *const table = data_of<const T>(token_table), *const positions = data_of<const T>(position_table);
    const std::int32_t* const ids = data_of<std::int32_t>(tokens);
    parallel_blocks(rows, 16, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const token = table + ids[row] * channels;
        const T* const position =
            positions == nullptr ? nullptr : positions + row % length * channels;  // row = b T + t
        for_each_vector<T>(channels, [=, sum = to + row * channels](std::int64_t c, auto lanes) {
          const Vector<T> value = load(token + c, lanes);
          store(sum + c, position == nullptr ? value : value + load(position + c, lanes), lanes);
        });
      }
    });
  });
}

void embedding_token_gradient(const Tensor& token_gradient, Write write, const Tensor& out_gradient,
                              const Tensor& tokens) {
  on_device_and_storage_type("embedding_token_gradient", out_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_tokens("embedding_token_gradient", tokens, out_gradient, token_gradient);
    const std::int64_t channels = columns_of(out_gradient), rows = rows_of(out_gradient);
    const std::int64_t vocabulary = rows_of(token_gradient);
    T* const to = data_of<T>(token_gradient);
    const S* const from = data_of<S>(out_gradient);
    const std::int32_t* const ids = data_of<std::int32_t>(tokens);
    // Task k owns the tokens that are k modulo kTasks, so tasks never share a token, and each token adds in row order.
    constexpr std::int64_t kTasks = 16;
    parallel_tasks(kTasks, out_gradient.count(), [=](std::int64_t task) {
      if (write == Write::kOverwrite) {
        for (std::int64_t v = task; v < vocabulary; v += kTasks) std::fill_n(to + v * channels, channels, T{0});
      }
      for (std::int64_t row = 0; row < rows; ++row) {
        if (ids[row] % kTasks != task) continue;
        T* const sum = to + ids[row] * channels;
        add_row(sum, from + row * channels, channels);
      }
    });
  });
}

void embedding_position_gradient(const Tensor& position_gradient, Write write, const Tensor& out_gradient) {
  on_device_and_storage_type("embedding_position_gradient", out_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require(out_gradient.shape().rank() == 3, "embedding_position_gradient: the gradient must be [B, T, C], not ",
            out_gradient.shape());
    const std::int64_t samples = out_gradient.shape()[0], length = out_gradient.shape()[1];
    const std::int64_t channels = out_gradient.shape()[2], positions = rows_of(position_gradient);
    require(
        position_gradient.dtype() == dtype_of<T> && columns_of(position_gradient) == channels && positions >= length,
        "embedding_position_gradient: table gradient ", position_gradient.shape(), " does not fit ",
        out_gradient.shape());
    T* const to = data_of<T>(position_gradient);
    const S* const from = data_of<S>(out_gradient);
    parallel_tasks(positions, out_gradient.count(), [=](std::int64_t t) {
      if (write == Write::kOverwrite) std::fill_n(to + t * channels, channels, T{0});
      if (t >= length) return;
      for (std::int64_t b = 0; b < samples; ++b) {
        add_row(to + t * channels, from + (b * length + t) * channels, channels);
      }
    });
  });
}

}  // namespace lockstep::kernels::cpu
