#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/dropout_factors.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/tile_product.hpp"
#include "kernels/cpu/types.hpp"

// One task is one head of one sample. It copies q, k, v of its head into its own scratch (padded with zeros to whole
// vectors, k transposed), then processes the rows in groups of kTileRows, each against its visible columns. Scores of a
// block of rows form a panel [rows, T] that stays in the second-level cache.
//
// Letters: T positions, D channels of a head; Tp and Dp padded to whole vectors. i: query, j: key.

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Sizes and pointers of one call. S is the storage type of activations, T the type of computations.
template <typename S>
struct Problem {
  using T = Compute<S>;
  std::int64_t samples, length, channels, heads, head_size;
  std::int64_t padded_length, padded_head_size;  // Tp, Dp
  std::int64_t block_rows;                       // rows of a panel; depends on T only
  T scale;
  const Dropout& dropout;
  const S* qkv;

  Problem(const ConstArray& packed, std::int64_t sample_count, int head_count, const Dropout& mask)
      : samples(sample_count),
        length(packed.rows / samples),
        channels(packed.columns / 3),
        heads(head_count),
        head_size(channels / heads),
        padded_length(round_up(length, 16)),
        padded_head_size(round_up(head_size, kLanes<T>)),
        block_rows(std::clamp<std::int64_t>(32768 / padded_length / 16 * 16, 16, 64)),
        scale(static_cast<T>(1.0 / std::sqrt(static_cast<double>(head_size)))),
        dropout(mask),
        qkv(packed.as<S>()) {}

  [[nodiscard]] std::int64_t elements() const { return samples * heads * length * length; }
};

/// Scratch of one task, carved from one allocation.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count) : memory_(Tensor::empty({count}, dtype_of<T>)), next_(data_of<T>(memory_)) {}

  [[nodiscard]] T* take(std::int64_t count) { return std::exchange(next_, next_ + count); }

 private:
  Tensor memory_;
  T* next_;
};

/// to[Tp, Dp] = factor * from[T, D] with row stride `from_stride`, zeros around it.
template <typename S, typename T = Compute<S>>
void pack(T* to, const Problem<S>& p, const S* from, std::int64_t from_stride, T factor = T{1}) {
  for (std::int64_t t = 0; t < p.length; ++t) {
    T* const row = to + t * p.padded_head_size;
    const S* const source = from + t * from_stride;
    for_each_vector<T>(p.head_size,
                       [=](std::int64_t d, auto lanes) { store(row + d, factor * load(source + d, lanes)); });
  }
  std::fill_n(to + p.length * p.padded_head_size, (p.padded_length - p.length) * p.padded_head_size, T{0});
}

/// to[Dp, Tp] = from[Tp, Dp]^T.
template <typename S, typename T = Compute<S>>
void transpose(T* to, const T* from, const Problem<S>& p) {
  for (std::int64_t t = 0; t < p.padded_length; t += kLanes<T>) {
    for (std::int64_t d = 0; d < p.padded_head_size; d += kLanes<T>) {
      transpose_square(to + d * p.padded_length + t, p.padded_length, from + t * p.padded_head_size + d,
                       p.padded_head_size);
    }
  }
}

/// Writes `rows` rows [rows, D] of `from` [rows, Dp] to rows of stride `to_stride`.
template <typename S, typename T = Compute<S>>
void unpack(S* to, std::int64_t to_stride, const T* from, std::int64_t rows, const Problem<S>& p, T factor = T{1}) {
  for (std::int64_t t = 0; t < rows; ++t) {
    S* const row = to + t * to_stride;
    const T* const source = from + t * p.padded_head_size;
    for_each_vector<T>(p.head_size,
                       [=](std::int64_t d, auto lanes) { store(row + d, factor * load(source + d), lanes); });
  }
}

/// Multiplies a row of probabilities [0, count) by their dropout factors.
template <typename S, typename T = Compute<S>>
void drop_row(T* row, const Problem<S>& p, std::int64_t sample, std::int64_t head, std::int64_t i) {
  T factors[256];
  const std::int64_t first = p.dropout.first_element + (head * p.length + i) * p.length;
  for (std::int64_t j = 0; j <= i; j += 256) {
    const std::int64_t count = std::min<std::int64_t>(256, i + 1 - j);
    dropout_factors(factors, p.dropout, p.dropout.sample_ids[sample], first + j, count);
    for (std::int64_t n = 0; n < count; ++n) row[j + n] = dropped(row[j + n], factors[n]);
  }
}

/// Calls body(j, see) for each vector of columns [0, columns) of query i's row. see(value, hidden) puts `hidden` if a
/// key comes after the query. It works in registers: a masked store would stall the next load of the row.
template <typename T, typename Body>
inline void for_each_key_vector(std::int64_t i, std::int64_t columns, const Body& body) {
  std::int64_t j = 0;
  for (; j + kLanes<T> <= i + 1; j += kLanes<T>) body(j, [](Vector<T> value, T) { return value; });
  for (; j < columns; j += kLanes<T>) {
    const auto is_hidden = lane_numbers<T>() > Vector<T>{} + static_cast<T>(i - j);  // small integers: exact
    body(j, [=](Vector<T> value, T hidden) { return is_hidden ? Vector<T>{} + hidden : value; });
  }
}

/// Replaces scores [0, i] of a row by e^(score - largest), the rest of its vectors by 0; returns the largest score and
/// the sum.
template <typename T>
inline std::pair<T, T> exponentiate_row(T* row, std::int64_t i, std::int64_t columns) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  Vector<T> largest = Vector<T>{} + kHidden;
  for_each_key_vector<T>(i, columns,
                         [&](std::int64_t j, auto see) { largest = larger<T>(largest, see(load(row + j), kHidden)); });
  const T highest = largest_of<T>(largest);
  Vector<T> sums{};
  for_each_key_vector<T>(i, columns, [&](std::int64_t j, auto see) {
    const Vector<T> values = see(fast_exp(load(row + j) - highest), T{0});
    store(row + j, values);
    sums += values;
  });
  return {highest, sum_of<T>(sums)};
}

template <typename S, typename T = Compute<S>>
void forward_head(const Problem<S>& p, std::int64_t sample, std::int64_t head, S* out, T* log_sum_exp) {
  const std::int64_t Tp = p.padded_length, Dp = p.padded_head_size, stride = 3 * p.channels;
  Scratch<T> scratch(4 * Tp * Dp + kTileRows * (Tp + Dp));
  T *const q = scratch.take(Tp * Dp), *const k = scratch.take(Tp * Dp), *const v = scratch.take(Tp * Dp);
  T* const k_transposed = scratch.take(Tp * Dp);
  T *const panel = scratch.take(kTileRows * Tp), *const rows_out = scratch.take(kTileRows * Dp);
  const S* const packed = p.qkv + sample * p.length * stride + head * p.head_size;
  pack(q, p, packed, stride, p.scale);
  pack(k, p, packed + p.channels, stride);
  pack(v, p, packed + 2 * p.channels, stride);
  transpose(k_transposed, k, p);
  for (std::int64_t first = 0; first < p.length; first += kTileRows) {
    const std::int64_t end = first + kTileRows, columns = round_up(end, kLanes<T>);
    row_product<Write::kOverwrite>(panel, Tp, TileOperand<T>{q + first * Dp, Dp, 1}, k_transposed, Tp, Dp, columns);
    const std::int64_t valid = std::min<std::int64_t>(kTileRows, p.length - first);
    T factors[kTileRows] = {};
    for (std::int64_t r = 0; r < valid; ++r) {
      const auto [largest, sum] = exponentiate_row(panel + r * Tp, first + r, columns);
      log_sum_exp[first + r] = largest + std::log(sum);
      factors[r] = T{1} / sum;
      if (p.dropout.is_active()) drop_row(panel + r * Tp, p, sample, head, first + r);
    }
    row_product<Write::kOverwrite>(rows_out, Dp, TileOperand<T>{panel, Tp, 1}, v, Dp, std::min(end, Tp), Dp);
    for (std::int64_t r = 0; r < valid; ++r) {
      unpack(out + (first + r) * p.channels, p.channels, rows_out + r * Dp, 1, p, factors[r]);
    }
  }
}

/// Scratch and sizes of the backward pass of one head.
template <typename S>
struct BackwardHead {
  using T = Compute<S>;

  const Problem<S>& p;
  std::int64_t sample, head, Tp, Dp;
  Scratch<T> scratch;
  T *q, *k, *v, *k_transposed, *v_transposed, *out_gradient, *q_gradient, *k_gradient, *v_gradient;
  T *delta, *log_sum_exp;              // [Tp]; delta[i] = out_gradient[i] . out[i]
  T *probabilities, *score_gradients;  // [block_rows, Tp]

  BackwardHead(const Problem<S>& problem, std::int64_t sample_index, std::int64_t head_index)
      : p(problem),
        sample(sample_index),
        head(head_index),
        Tp(p.padded_length),
        Dp(p.padded_head_size),
        scratch(9 * Tp * Dp + 2 * Tp + 2 * p.block_rows * Tp) {
    for (T** matrix :
         {&q, &k, &v, &k_transposed, &v_transposed, &out_gradient, &q_gradient, &k_gradient, &v_gradient}) {
      *matrix = scratch.take(Tp * Dp);
    }
    delta = scratch.take(Tp);
    log_sum_exp = scratch.take(Tp);
    probabilities = scratch.take(p.block_rows * Tp);
    score_gradients = scratch.take(p.block_rows * Tp);
  }

  void load_inputs(const S* out_gradients, const S* out, const T* saved) {
    const std::int64_t stride = 3 * p.channels;
    const S* const packed = p.qkv + sample * p.length * stride + head * p.head_size;
    pack(q, p, packed, stride, p.scale);
    pack(k, p, packed + p.channels, stride);
    pack(v, p, packed + 2 * p.channels, stride);
    pack(out_gradient, p, out_gradients, p.channels);
    transpose(k_transposed, k, p);
    transpose(v_transposed, v, p);
    std::fill_n(delta, Tp, T{0});
    std::fill_n(log_sum_exp, Tp, T{0});
    std::copy_n(saved, p.length, log_sum_exp);
    for (std::int64_t i = 0; i < p.length; ++i) {
      Vector<T> products{};
      const S *const dy = out_gradients + i * p.channels, *const y = out + i * p.channels;
      for_each_vector<T>(p.head_size,
                         [&](std::int64_t d, auto lanes) { products += load(dy + d, lanes) * load(y + d, lanes); });
      delta[i] = sum_of<T>(products);
    }
    std::fill_n(k_gradient, 2 * Tp * Dp, T{0});  // and v_gradient, which follows it
  }

  /// Turns scores and probability gradients of row i into probabilities and score gradients, 0 beyond i.
  void finish_row(T* scores, T* gradients, std::int64_t i, std::int64_t columns) const {
    const bool is_dropping = p.dropout.is_active() && i < p.length;
    if (is_dropping) drop_row(gradients, p, sample, head, i);  // now of probabilities before dropout
    for_each_key_vector<T>(i, columns, [&, shift = log_sum_exp[i], dot = delta[i]](std::int64_t j, auto see) {
      const Vector<T> probability = fast_exp(load(scores + j) - shift);
      store(gradients + j, see(probability * (load(gradients + j) - dot), T{0}));
      store(scores + j, see(probability, T{0}));
    });
    if (is_dropping) drop_row(scores, p, sample, head, i);
  }

  /// Rows [begin, end) of queries: writes their q_gradient, and adds their parts of k_gradient and v_gradient.
  void run_block(std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kTileRows) {
      const std::int64_t seen = first + kTileRows, columns = round_up(seen, kLanes<T>);
      T* const scores = probabilities + (first - begin) * Tp;
      T* const gradients = score_gradients + (first - begin) * Tp;
      row_product<Write::kOverwrite>(scores, Tp, TileOperand<T>{q + first * Dp, Dp, 1}, k_transposed, Tp, Dp, columns);
      row_product<Write::kOverwrite>(gradients, Tp, TileOperand<T>{out_gradient + first * Dp, Dp, 1}, v_transposed, Tp,
                                     Dp, columns);
      for (int r = 0; r < kTileRows; ++r) finish_row(scores + r * Tp, gradients + r * Tp, first + r, columns);
      row_product<Write::kOverwrite>(q_gradient + first * Dp, Dp, TileOperand<T>{gradients, Tp, 1}, k, Dp, seen, Dp);
    }
    for (std::int64_t key = 0; key < end; key += kTileRows) {
      const std::int64_t from = std::max(begin, key);  // earlier queries do not see these keys
      const std::int64_t offset = (from - begin) * Tp + key;
      row_product<Write::kAdd>(k_gradient + key * Dp, Dp, TileOperand<T>{score_gradients + offset, 1, Tp},
                               q + from * Dp, Dp, end - from, Dp);
      row_product<Write::kAdd>(v_gradient + key * Dp, Dp, TileOperand<T>{probabilities + offset, 1, Tp},
                               out_gradient + from * Dp, Dp, end - from, Dp);
    }
  }

  void run(S* qkv_gradient) {
    for (std::int64_t begin = 0; begin < p.length; begin += p.block_rows) {
      run_block(begin, std::min(round_up(p.length, kTileRows), begin + p.block_rows));
    }
    const std::int64_t stride = 3 * p.channels;
    S* const to = qkv_gradient + sample * p.length * stride + head * p.head_size;
    unpack(to, stride, q_gradient, p.length, p, p.scale);
    unpack(to + p.channels, stride, k_gradient, p.length, p);  // q carries the scale
    unpack(to + 2 * p.channels, stride, v_gradient, p.length, p);
  }
};

}  // namespace

void causal_attention_forward(Array out, Array log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                              const Dropout& dropout, Context) {
  if (qkv.count() == 0) return;
  on_storage_type(qkv, [&]<typename S, typename T>() {
    const Problem<S> p(qkv, samples, heads, dropout);
    parallel_tasks(p.samples * p.heads, p.elements(), [&](std::int64_t task) {
      const std::int64_t sample = task / p.heads, head = task % p.heads;
      forward_head(p, sample, head, out.as<S>() + sample * p.length * p.channels + head * p.head_size,
                   log_sum_exp.as<T>() + task * p.length);
    });
  });
}

void causal_attention_backward(Array qkv_gradient, ConstArray out_gradient, ConstArray out, ConstArray log_sum_exp,
                               ConstArray qkv, std::int64_t samples, int heads, const Dropout& dropout, Context) {
  if (qkv.count() == 0) return;
  on_storage_type(qkv, [&]<typename S, typename T>() {
    const Problem<S> p(qkv, samples, heads, dropout);
    parallel_tasks(p.samples * p.heads, p.elements(), [&](std::int64_t task) {
      const std::int64_t sample = task / p.heads, head = task % p.heads;
      const std::int64_t offset = sample * p.length * p.channels + head * p.head_size;
      BackwardHead<S> backward(p, sample, head);
      backward.load_inputs(out_gradient.as<S>() + offset, out.as<S>() + offset, log_sum_exp.as<T>() + task * p.length);
      backward.run(qkv_gradient.as<S>());
    });
  });
}

}  // namespace lockstep::kernels::cpu
