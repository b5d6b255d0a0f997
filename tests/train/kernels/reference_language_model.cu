// Parts of language models only: attention, embeddings, the loss over a vocabulary; and a norm.
#include <vector>

#include "kernels/reference_kernels.cuh"

namespace lockstep::kernels::testing::reference {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// One head h of one sample b is number n = b H + h; scores of it are [T, T].
struct Heads {
  Elements qkv, out_gradient;
  std::int64_t samples, heads, length, head_size;  // B, H, T, D
  double* probabilities;                           // [B H, T, T]; scores until their rows are normalized
  double* score_gradients;                         // [B H, T, T]

  /// Element d of the query (part 0), key (1) or value (2) of head n at position t.
  __device__ double at(int part, std::int64_t n, std::int64_t t, std::int64_t d) const {
    const std::int64_t channels = heads * head_size;
    return qkv.at(((n / heads) * length + t) * 3 * channels + part * channels + (n % heads) * head_size + d);
  }
  __device__ double gradient_at(std::int64_t n, std::int64_t t, std::int64_t d) const {
    return out_gradient.at(((n / heads) * length + t) * heads * head_size + (n % heads) * head_size + d);
  }
  __device__ double factor() const { return 1.0 / sqrt(static_cast<double>(head_size)); }
};

struct FindScores {
  Heads heads;
  __device__ void operator()(std::int64_t element) const {
    const std::int64_t j = element % heads.length, i = element / heads.length % heads.length;
    const std::int64_t n = element / (heads.length * heads.length);
    double score = 0.0, gradient = 0.0;  // of the probability: how much out's gradient asks for value j
    for (std::int64_t d = 0; d < heads.head_size; ++d) {
      score += heads.at(0, n, i, d) * heads.at(1, n, j, d);
      gradient += heads.gradient_at(n, i, d) * heads.at(2, n, j, d);
    }
    heads.probabilities[element] = j <= i ? score * heads.factor() : -HUGE_VAL;
    heads.score_gradients[element] = gradient;
  }
};

struct NormalizeRows {
  Heads heads;
  __device__ void operator()(std::int64_t row) const {
    double* const p = heads.probabilities + row * heads.length;
    double* const g = heads.score_gradients + row * heads.length;
    double largest = -HUGE_VAL, sum = 0.0, mean = 0.0;
    for (std::int64_t j = 0; j < heads.length; ++j) largest = fmax(largest, p[j]);
    for (std::int64_t j = 0; j < heads.length; ++j) sum += exp(p[j] - largest);
    for (std::int64_t j = 0; j < heads.length; ++j) {
      p[j] = exp(p[j] - largest) / sum;
      mean += p[j] * g[j];
    }
    for (std::int64_t j = 0; j < heads.length; ++j) g[j] = p[j] * (g[j] - mean) * heads.factor();
  }
};

struct AttentionOut {
  Heads heads;
  __device__ double operator()(std::int64_t element) const {
    const std::int64_t channels = heads.heads * heads.head_size, c = element % channels, token = element / channels;
    const std::int64_t n = token / heads.length * heads.heads + c / heads.head_size, i = token % heads.length;
    const double* const p = heads.probabilities + (n * heads.length + i) * heads.length;
    double sum = 0.0;
    for (std::int64_t j = 0; j < heads.length; ++j) sum += p[j] * heads.at(2, n, j, c % heads.head_size);
    return sum;
  }
};

struct QkvGradient {
  Heads heads;
  __device__ double operator()(std::int64_t element) const {
    const std::int64_t T = heads.length, channels = heads.heads * heads.head_size;
    const std::int64_t c = element % channels, part = element / channels % 3, token = element / (3 * channels);
    const std::int64_t n = token / T * heads.heads + c / heads.head_size, t = token % T, d = c % heads.head_size;
    const double* const p = heads.probabilities + n * T * T;
    const double* const g = heads.score_gradients + n * T * T;
    double sum = 0.0;
    for (std::int64_t s = 0; s < T; ++s) {
      if (part == 0) sum += g[t * T + s] * heads.at(1, n, s, d);
      if (part == 1) sum += g[s * T + t] * heads.at(0, n, s, d);
      if (part == 2) sum += p[s * T + t] * heads.gradient_at(n, s, d);
    }
    return sum;
  }
};

struct LossElements {
  Elements logits;
  const std::int32_t* targets;
  double* log_sums;  // [R]
};

struct FindLogSums {
  LossElements loss;
  __device__ void operator()(std::int64_t r) const {
    const std::int64_t begin = r * loss.logits.columns, end = begin + loss.logits.columns;
    double largest = -HUGE_VAL, sum = 0.0;
    for (std::int64_t i = begin; i < end; ++i) largest = fmax(largest, loss.logits.at(i));
    for (std::int64_t i = begin; i < end; ++i) sum += exp(loss.logits.at(i) - largest);
    loss.log_sums[r] = largest + log(sum);
  }
};

struct LossOfRow {
  LossElements loss;
  __device__ double operator()(std::int64_t r) const {
    return loss.log_sums[r] - loss.logits.at(r * loss.logits.columns + loss.targets[r]);
  }
};

struct LogitGradient {
  LossElements loss;
  __device__ double operator()(std::int64_t i) const {
    const std::int64_t r = i / loss.logits.columns, c = i % loss.logits.columns;
    return exp(loss.logits.at(i) - loss.log_sums[r]) - (c == loss.targets[r] ? 1.0 : 0.0);
  }
};

struct EmbeddingSum {
  const std::int32_t* tokens;
  Elements token_table, position_table;
  std::int64_t length;
  __device__ double operator()(std::int64_t i) const {
    const std::int64_t channels = token_table.columns, c = i % channels, row = i / channels;
    return token_table.at(tokens[row] * channels + c) + position_table.at(row % length * channels + c);
  }
};

struct TokenGradient {
  const std::int32_t* tokens;
  Elements out_gradient;
  __device__ double operator()(std::int64_t i) const {
    const std::int64_t token = i / out_gradient.columns, c = i % out_gradient.columns;
    double sum = 0.0;
    for (std::int64_t row = 0; row < out_gradient.rows; ++row) {
      if (tokens[row] == token) sum += out_gradient.at(row * out_gradient.columns + c);
    }
    return sum;
  }
};

constexpr std::int64_t kNormThreads = 65536;

struct PartialSquares {
  Elements values;
  double* sums;  // [kNormThreads]
  __device__ void operator()(std::int64_t thread) const {
    double sum = 0.0;
    for (std::int64_t i = thread; i < values.rows * values.columns; i += kNormThreads) {
      sum += values.at(i) * values.at(i);
    }
    sums[thread] = sum;
  }
};

const std::int32_t* ids_of(const View& view) { return static_cast<const std::int32_t*>(view.data); }

}  // namespace

AttentionErrors attention_errors(const Attention& attention, double floor) {
  const std::int64_t length = attention.out.rows / attention.samples, all_heads = attention.samples * attention.heads;
  const Memory<double> probabilities(all_heads * length * length), score_gradients(all_heads * length * length);
  const Heads heads{Elements(attention.qkv),
                    Elements(attention.out_gradient),
                    attention.samples,
                    attention.heads,
                    length,
                    attention.out.columns / attention.heads,
                    probabilities.data(),
                    score_gradients.data()};
  run(FindScores{heads}, all_heads * length * length);
  run(NormalizeRows{heads}, all_heads * length);
  return {worst_error(attention.out, AttentionOut{heads}, floor),
          worst_error(attention.qkv_gradient, QkvGradient{heads}, floor)};
}

CrossEntropyErrors cross_entropy_errors(const View& losses, const View& gradient, const View& logits,
                                        const View& targets, double floor) {
  const Memory<double> log_sums(logits.rows);
  const LossElements loss{Elements(logits), ids_of(targets), log_sums.data()};
  run(FindLogSums{loss}, logits.rows);
  return {worst_error(losses, LossOfRow{loss}, 1.0), worst_error(gradient, LogitGradient{loss}, floor)};
}

double embedding_error(const View& result, const View& tokens, const View& token_table, const View& position_table,
                       double floor) {
  const EmbeddingSum expected{ids_of(tokens), Elements(token_table), Elements(position_table), position_table.rows};
  return worst_error(result, expected, floor);
}

double token_gradient_error(const View& result, const View& tokens, const View& out_gradient, double floor) {
  return worst_error(result, TokenGradient{ids_of(tokens), Elements(out_gradient)}, floor);
}

double squared_norm(const View& values) {
  const Memory<double> sums(kNormThreads);
  run(PartialSquares{Elements(values), sums.data()}, kNormThreads);
  std::vector<double> parts(static_cast<std::size_t>(kNormThreads));
  cuda_check(cudaMemcpy(parts.data(), sums.data(), parts.size() * sizeof(double), cudaMemcpyDeviceToHost));
  double total = 0.0;
  for (const double part : parts) total += part;
  return total;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::testing::reference
