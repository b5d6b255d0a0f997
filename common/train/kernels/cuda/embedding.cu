// Token and position embeddings. Letters: B samples, T positions, C channels, V vocabulary, P rows of the position
// table; a row is one (b, t), row = b T + t, R = B T.
#include "kernels/cuda/faults.cuh"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// out[row] = token_table[tokens[row] - first_row] + position_table[row % T]; a token whose row is not in this part of
/// the table counts as zeros. A pack never crosses a row: W divides C. Traffic: writes R C elements, reads as many of
/// the tables (mostly from the cache for positions).
template <typename S>
struct EmbeddingForward {
  S* out;
  const std::int32_t* tokens;
  const float *token_table, *position_table;  // position_table may be null
  std::int64_t length, channels, first_row, rows, vocabulary;
  DeviceFaults* faults;

  template <int W>
  __device__ void run(std::int64_t i) const {
    const std::int64_t row = i / channels, c = i % channels;
    const std::int32_t token = tokens[row];
    Floats<W> values{};
    if (token < 0 || token >= vocabulary) {
      note_fault(&faults->token, row, token);
    } else {
      const std::int64_t table_row = token - first_row;
      if (table_row >= 0 && table_row < rows) values = load<W>(token_table, table_row * channels + c);
      if (position_table != nullptr) {
        const Floats<W> added = load<W>(position_table, row % length * channels + c);
#pragma unroll
        for (int k = 0; k < W; ++k) values.at[k] += added.at[k];
      }
    }
    store(out, i, values);
  }
};

/// position_gradient[t] = sum over b of out_gradient[b, t], in the order of b. One thread owns one pack of columns.
/// Traffic: reads B T C elements, writes P C floats.
template <typename S>
struct PositionGradient {
  float* position_gradient;
  Write write;
  const S* out_gradient;
  std::int64_t samples, length, channels;

  template <int W>
  __device__ void run(std::int64_t i) const {
    const bool is_used = i / channels < length;
    if (!is_used && write == Write::kAdd) return;
    Floats<W> sums{};
    for (std::int64_t b = 0; is_used && b < samples; ++b) {
      const Floats<W> values = load<W>(out_gradient, b * length * channels + i);
#pragma unroll
      for (int k = 0; k < W; ++k) sums.at[k] += values.at[k];
    }
    write_pack(position_gradient, i, sums, write);
  }
};

/// spans[v] = first and last row whose token is first_row + v, if it occurs. Integer minima do not depend on their
/// order.
struct TokenSpans {
  int* first;  // [rows of the table], large numbers before
  int* last;   // the same, -1 before
  const std::int32_t* tokens;
  std::int64_t first_row, rows, vocabulary;
  DeviceFaults* faults;

  template <int W>
  __device__ void run(std::int64_t i) const {
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const std::int32_t token = tokens[i + k];
      const int row = static_cast<int>(i) + k;
      if (token < 0 || token >= vocabulary) {
        note_fault(&faults->token, row, token);
        continue;
      }
      const std::int64_t table_row = token - first_row;
      if (table_row < 0 || table_row >= rows) continue;
      atomicMin(first + table_row, row);
      atomicMax(last + table_row, row);
    }
  }
};

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;

/// Lists in `rows` the rows of [begin, begin + kThreads) up to `last` that hold `token`, in order; returns their
/// number. A barrier stands before the list is written, so the last one may be read until the next call.
__device__ inline int list_rows(int* rows, int* counts, const std::int32_t* tokens, std::int32_t token, int begin,
                                int last) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int row = begin + static_cast<int>(threadIdx.x);
  const bool is_match = row <= last && tokens[row] == token;
  const unsigned int matches = __ballot_sync(kAllLanes, is_match);
  if (lane == 0) counts[warp] = __popc(matches);
  __syncthreads();
  int before = 0, total = 0;
  for (int other = 0; other < kWarps; ++other) {
    if (other == warp) before = total;
    total += counts[other];
  }
  if (is_match) rows[before + __popc(matches & ((1U << lane) - 1U))] = row;
  __syncthreads();
  return total;
}

/// token_gradient[v] (+)= sum of out_gradient[row] over the rows of token v, in their order.
///
/// Launch: (R, blocks_for(C, W kThreads)) blocks of kThreads. If a row is the first of its token, its block sums all
/// rows of that token; the other blocks return. The search ends at the token's last row, so the many tokens that occur
/// once need none. Traffic: reads R C elements once, writes a row of C floats for each token that occurs.
template <typename S, int W>
__global__ void __launch_bounds__(kThreads)
    token_gradient_rows(float* token_gradient, Write write, const S* out_gradient, const std::int32_t* tokens,
                        const int* first, const int* last, std::int64_t first_row, std::int64_t table_rows,
                        std::int64_t channels) {
  __shared__ int rows[kThreads];
  __shared__ int counts[kWarps];
  const int row = static_cast<int>(blockIdx.x);
  const std::int32_t token = tokens[row];
  const std::int64_t v = token - first_row;
  if (v < 0 || v >= table_rows || first[v] != row) return;  // the same for all threads of the block
  const std::int64_t c = (std::int64_t{blockIdx.y} * kThreads + threadIdx.x) * W;
  const bool has_columns = c < channels;
  const int end = last[v];
  Floats<W> sums{};
  if (has_columns && write == Write::kAdd) sums = load<W>(token_gradient, v * channels + c);
  for (int begin = row; begin <= end; begin += kThreads) {
    const int count = list_rows(rows, counts, tokens, token, begin, end);
#pragma unroll 4
    for (int m = 0; has_columns && m < count; ++m) {
      const Floats<W> values = load<W>(out_gradient, rows[m] * channels + c);
#pragma unroll
      for (int k = 0; k < W; ++k) sums.at[k] += values.at[k];
    }
  }
  if (has_columns) store(token_gradient, v * channels + c, sums);
}

template <typename S, int W>
void launch_token_gradient(Array token_gradient, Write write, ConstArray out_gradient, ConstArray tokens,
                           const int* first, const int* last, std::int64_t first_row, Context context) {
  const std::int64_t channels = out_gradient.columns;
  const dim3 grid(static_cast<unsigned int>(out_gradient.rows),
                  static_cast<unsigned int>(blocks_for(channels, std::int64_t{W} * kThreads)));
  cuda_check(launch(token_gradient_rows<S, W>, grid, dim3(kThreads), 0, context.stream, token_gradient.as<float>(),
                    write, out_gradient.as<S>(), tokens.as<std::int32_t>(), first, last, first_row, token_gradient.rows,
                    channels));
}

}  // namespace

void embedding_forward(Array out, ConstArray tokens, ConstArray token_table, ConstArray position_table,
                       const VocabularyPart& part, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const EmbeddingForward<S> operation{out.as<S>(),
                                        tokens.as<std::int32_t>(),
                                        token_table.as<float>(),
                                        position_table.as<float>(),
                                        tokens.columns,
                                        out.columns,
                                        part.first,
                                        token_table.rows,
                                        part.whole,
                                        context.faults};
    // The widest pack of S is at most 8 elements; a table of floats is then read in two accesses of 16 bytes.
    const bool is_aligned = are_rows_aligned<S>(out.columns, out.data, token_table.data, position_table.data);
    map<S>(operation, out.count(), is_aligned, context.stream);
  });
}

void embedding_position_gradient(Array position_gradient, Write write, ConstArray out_gradient, std::int64_t samples,
                                 Context context) {
  on_storage_type(out_gradient, [&](auto zero) {
    using S = decltype(zero);
    const std::int64_t length = samples == 0 ? 0 : out_gradient.rows / samples;
    const PositionGradient<S> operation{position_gradient.as<float>(), write, out_gradient.as<S>(), samples, length,
                                        out_gradient.columns};
    const bool is_aligned = are_rows_aligned<S>(out_gradient.columns, position_gradient.data, out_gradient.data);
    map<S>(operation, position_gradient.count(), is_aligned, context.stream);
  });
}

void embedding_token_gradient(Array token_gradient, Write write, ConstArray out_gradient, ConstArray tokens,
                              const VocabularyPart& part, Context context) {
  if (write == Write::kOverwrite) {
    cuda_check(cudaMemsetAsync(token_gradient.data, 0, token_gradient.bytes(), context.stream));
  }
  if (out_gradient.count() == 0) return;
  const std::int64_t rows = token_gradient.rows;
  int* const first = context.scratch->take<int>(2 * rows);
  int* const last = first + rows;
  const std::size_t bytes = static_cast<std::size_t>(rows) * sizeof(int);
  cuda_check(cudaMemsetAsync(first, 0x7F, bytes, context.stream));  // 0x7F7F7F7F, above every row
  cuda_check(cudaMemsetAsync(last, 0xFF, bytes, context.stream));   // -1
  map<float>(TokenSpans{first, last, tokens.as<std::int32_t>(), part.first, rows, part.whole, context.faults},
             out_gradient.rows, false, context.stream);
  on_storage_type(out_gradient, [&](auto zero) {
    using S = decltype(zero);
    if (are_rows_aligned<S>(out_gradient.columns, token_gradient.data, out_gradient.data)) {
      launch_token_gradient<S, kPackWidth<S>>(token_gradient, write, out_gradient, tokens, first, last, part.first,
                                              context);
    } else {
      launch_token_gradient<S, 1>(token_gradient, write, out_gradient, tokens, first, last, part.first, context);
    }
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
