#include <cmath>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

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

template <typename S>
CachedProblem<S> check(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                       std::int64_t past) {
  using T = Compute<S>;
  constexpr std::string_view kName = "cached_attention_forward";
  require(qkv.shape().rank() == 3 && heads > 0 && qkv.shape()[2] % (3 * std::int64_t{heads}) == 0, kName,
          ": qkv must be [B, N, 3C] with C divisible by ", heads, " heads, not ", qkv.shape());
  const std::int64_t samples = qkv.shape()[0], count = qkv.shape()[1], channels = qkv.shape()[2] / 3;
  require(keys.shape().rank() == 4, kName, ": keys must be [B, H, T, D], not ", keys.shape());
  const std::int64_t capacity = keys.shape()[2];
  const Shape expected{samples, heads, capacity, channels / heads};
  for (const Tensor* kept : {&keys, &values}) {
    require(kept->shape() == expected && kept->dtype() == dtype_of<T>, kName, ": keys and values must be ", dtype_of<T>,
            " ", expected, ", not ", kept->dtype(), " ", kept->shape());
  }
  require(past >= 0 && past <= capacity - count, kName, ": ", count, " positions behind ", past,
          " do not fit into room for ", capacity);
  require_count(kName, "out", out, qkv.count() / 3, qkv.dtype());
  return {samples,
          count,
          channels,
          heads,
          channels / heads,
          capacity,
          past,
          data_of<S>(out),
          data_of<T>(keys),
          data_of<T>(values),
          data_of<const S>(qkv)};
}

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
  if (p.past == 0) return;  // the whole attention has been computed already
  const Tensor scratch = Tensor::empty({p.past + p.count + 2 * p.head_size}, dtype_of<T>);
  for (std::int64_t i = 0; i < p.count; ++i) {
    S* const out = p.out + (row + i) * p.channels + head * p.head_size;
    attend(out, p, packed + i * 3 * p.channels, p.keys + kept, p.values + kept, p.past + i + 1, data_of<T>(scratch));
  }
}

}  // namespace

void cached_attention_forward(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                              std::int64_t past) {
  on_device_and_storage_type("cached_attention_forward", qkv, [&](auto zero) {
    using S = decltype(zero);
    const CachedProblem<S> p = check<S>(out, keys, values, qkv, heads, past);
    if (past == 0) {
      const Tensor log_sum_exp = Tensor::empty({p.samples, p.heads, p.count}, dtype_of<Compute<S>>);
      cpu::causal_attention_forward(out, log_sum_exp, qkv, heads, {});
    }
    const std::int64_t elements = p.samples * p.heads * p.count * (past + p.count) * p.head_size;
    parallel_tasks(p.samples * p.heads, elements,
                   [&](std::int64_t task) { run_head(p, task / p.heads, task % p.heads); });
  });
}

}  // namespace lockstep::kernels::cpu
