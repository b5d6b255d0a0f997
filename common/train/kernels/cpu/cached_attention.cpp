#include <cmath>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

// One task is one head of one sample: it appends its new keys and values, then processes the new positions one by one.
// There are few of them, usually one, so most of the time goes into reading the cached rows, which are contiguous.
//
// Letters: T capacity in positions, N new ones, D channels of a head. i: query, j: key.

namespace lockstep::kernels::cpu {

namespace {

/// Sizes and pointers of one call. S is the storage type of activations; the cache has the type of computations.
template <typename S>
struct CachedProblem {
  using T = Compute<S>;
  std::int64_t samples, count, channels, heads, head_size, capacity, past;
  S* out;
  T *keys, *values;
  const S* qkv;
};

/// Appends rows [N, D] of keys (part 1) or values (part 2) of a head to the cached ones.
template <typename S, typename T = Compute<S>>
void append(T* kept, const CachedProblem<S>& p, const S* packed, int part) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    const S* const from = packed + i * 3 * p.channels + part * p.channels;
    T* const to = kept + (p.past + i) * p.head_size;
    for_each_vector<T>(p.head_size, [=](std::int64_t d, auto lanes) { store(to + d, load(from + d, lanes), lanes); });
  }
}

template <typename T>
T dot(const T* a, const T* b, std::int64_t count) {
  Vector<T> sums{};
  for_each_vector<T>(count, [&](std::int64_t d, auto lanes) { sums += load(a + d, lanes) * load(b + d, lanes); });
  return sum_of<T>(sums);
}

/// out[D] = softmax(query keys[0, seen)^T) values[0, seen). @param scratch  [seen + 2 D].
template <typename S, typename T = Compute<S>>
void attend(S* out, const CachedProblem<S>& p, const S* query_row, const T* keys, const T* values, std::int64_t seen,
            T* scratch) {
  const std::int64_t D = p.head_size;
  T *const scores = scratch, *const query = scratch + seen, *const sums = query + D;
  const auto scale = static_cast<T>(1.0 / std::sqrt(static_cast<double>(D)));
  for_each_vector<T>(D, [=](std::int64_t d, auto lanes) {
    store(query + d, scale * load(query_row + d, lanes), lanes);
    store(sums + d, Vector<T>{}, lanes);
  });
  T highest = scores[0] = dot(query, keys, D);
  for (std::int64_t j = 1; j < seen; ++j) {
    scores[j] = dot(query, keys + j * D, D);
    highest = scores[j] > highest ? scores[j] : highest;
  }
  T total{0};
  for (std::int64_t j = 0; j < seen; ++j) {
    const T weight = fast_exp(scores[j] - highest);
    total += weight;
    const T* const value = values + j * D;
    for_each_vector<T>(D, [=](std::int64_t d, auto lanes) {
      store(sums + d, load(sums + d, lanes) + weight * load(value + d, lanes), lanes);
    });
  }
  for_each_vector<T>(D, [=](std::int64_t d, auto lanes) { store(out + d, load(sums + d, lanes) / total, lanes); });
}

template <typename S, typename T = Compute<S>>
void run_head(const CachedProblem<S>& p, std::int64_t sample, std::int64_t head) {
  const std::int64_t row = sample * p.count, kept = (sample * p.heads + head) * p.capacity * p.head_size;
  const S* const packed = p.qkv + row * 3 * p.channels + head * p.head_size;
  append(p.keys + kept, p, packed, 1);
  append(p.values + kept, p, packed, 2);
  if (p.past == 0) return;  // the caller has computed `out`
  const Tensor scratch = Tensor::empty({p.past + p.count + 2 * p.head_size}, dtype_of<T>);
  for (std::int64_t i = 0; i < p.count; ++i) {
    S* const out = p.out + (row + i) * p.channels + head * p.head_size;
    attend(out, p, packed + i * 3 * p.channels, p.keys + kept, p.values + kept, p.past + i + 1, data_of<T>(scratch));
  }
}

}  // namespace

void cached_attention_forward(Array out, Array keys, Array values, ConstArray qkv, std::int64_t samples, int heads,
                              std::int64_t past) {
  if (qkv.count() == 0) return;
  on_storage_type(qkv, [&]<typename S, typename T>() {
    const CachedProblem<S> p{.samples = samples,
                             .count = qkv.rows / samples,
                             .channels = out.columns,
                             .heads = heads,
                             .head_size = keys.columns,
                             .capacity = keys.rows / (samples * heads),
                             .past = past,
                             .out = out.as<S>(),
                             .keys = keys.as<T>(),
                             .values = values.as<T>(),
                             .qkv = qkv.as<S>()};
    const std::int64_t elements = p.samples * p.heads * p.count * (past + p.count) * p.head_size;
    parallel_tasks(p.samples * p.heads, elements,
                   [&](std::int64_t task) { run_head(p, task / p.heads, task % p.heads); });
  });
}

}  // namespace lockstep::kernels::cpu
