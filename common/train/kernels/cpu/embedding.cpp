#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

/// sums[c] += row[c].
template <typename T, typename S>
void add_row(T* sums, const S* row, std::int64_t count) {
  for_each_vector<T>(
      count, [=](std::int64_t c, auto lanes) { store(sums + c, load(sums + c, lanes) + load(row + c, lanes), lanes); });
}

}  // namespace

void embedding_forward(Array out, ConstArray tokens, ConstArray token_table, ConstArray position_table,
                       const VocabularyPart& part, Context) {
  on_storage_type(out, [&]<typename S, typename T>() {
    const std::int64_t channels = out.columns, length = tokens.columns;
    const std::int64_t first = part.first, rows = token_table.rows;
    S* const to = out.as<S>();
    const T *const table = token_table.as<T>(), *const positions = position_table.as<T>();
    const std::int32_t* const ids = tokens.as<std::int32_t>();
    parallel_blocks(out.rows, 16, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t table_row = ids[row] - first;
        const T* const token = table_row >= 0 && table_row < rows ? table + table_row * channels : nullptr;
        const T* const position =
            positions == nullptr ? nullptr : positions + row % length * channels;  // row = b T + t
        for_each_vector<T>(channels, [=, sum = to + row * channels](std::int64_t c, auto lanes) {
          const Vector<T> value = token == nullptr ? Vector<T>{} : load(token + c, lanes);
          store(sum + c, position == nullptr ? value : value + load(position + c, lanes), lanes);
        });
      }
    });
  });
}

void embedding_token_gradient(Array token_gradient, Write write, ConstArray out_gradient, ConstArray tokens,
                              const VocabularyPart& part, Context) {
  on_storage_type(out_gradient, [&]<typename S, typename T>() {
    const std::int64_t channels = out_gradient.columns, rows = out_gradient.rows;
    const std::int64_t first = part.first, table_rows = token_gradient.rows;
    T* const to = token_gradient.as<T>();
    const S* const from = out_gradient.as<S>();
    const std::int32_t* const ids = tokens.as<std::int32_t>();
    // Task k owns the table's rows that are k modulo kTasks, so tasks never share a row, and each adds in order.
    constexpr std::int64_t kTasks = 16;
    parallel_tasks(kTasks, out_gradient.count(), [=](std::int64_t task) {
      if (write == Write::kOverwrite) {
        for (std::int64_t v = task; v < table_rows; v += kTasks) std::fill_n(to + v * channels, channels, T{0});
      }
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t v = ids[row] - first;
        if (v < 0 || v >= table_rows || v % kTasks != task) continue;
        add_row(to + v * channels, from + row * channels, channels);
      }
    });
  });
}

void embedding_position_gradient(Array position_gradient, Write write, ConstArray out_gradient, std::int64_t samples,
                                 Context) {
  on_storage_type(out_gradient, [&]<typename S, typename T>() {
    const std::int64_t length = samples == 0 ? 0 : out_gradient.rows / samples;
    const std::int64_t channels = out_gradient.columns, positions = position_gradient.rows;
    T* const to = position_gradient.as<T>();
    const S* const from = out_gradient.as<S>();
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
