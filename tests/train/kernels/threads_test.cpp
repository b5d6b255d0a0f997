// Every operation but the matrix products promises results that do not depend on the number of threads.
#ifdef _OPENMP
#include <omp.h>
#endif

#include "kernels/ops.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

constexpr std::int64_t B = 3, T = 65, C = 96, V = 300;
constexpr int kHeads = 3;

/// Results of one of each operation, large enough for several threads.
std::vector<Tensor> run_everything() {
  const std::vector<std::int64_t> ids{4, 8, 15};
  const DropoutMask mask{.probability = 0.2F, .key = 5, .sample_ids = ids};
  const Tensor x = random_tensor<float>({B, T, C}, 1), qkv = random_tensor<float>({B, T, 3 * C}, 2),
               dy = random_tensor<float>({B, T, C}, 3);
  const Tensor gain = random_tensor<float>({C}, 4), logits = random_tensor<float>({B * T, V}, 5),
               wide = random_tensor<float>({200'000}, 6);
  const Tensor tokens = random_ids({B, T}, V, 7);
  const auto like = [](const Tensor& tensor) { return Tensor::zeros(tensor.shape()); };
  std::vector<Tensor> results;
  const auto result = [&](const Tensor& tensor) { return results.emplace_back(like(tensor)); };

  const Tensor attended = result(x), lse = results.emplace_back(Tensor::zeros({B, kHeads, T}));
  causal_attention_forward(attended, lse, qkv, kHeads, mask);
  causal_attention_backward(result(qkv), dy, attended, lse, qkv, kHeads, mask);
  const LayerNormStatistics statistics = LayerNormStatistics::for_rows_of(x);
  layer_norm_forward(result(x), statistics, x, gain, gain);
  const Tensor dx = result(x), dgain = result(gain), dbias = result(gain);
  layer_norm_backward(dx, dy, statistics, x, gain, dgain, dbias, Write::kOverwrite, x);
  bias_gradient(result(gain), Write::kOverwrite, dy);
  dropout_forward(result(x), x, mask, dy);
  gelu_forward(result(x), x);
  gelu_backward(result(x), Write::kAdd, dy, x);
  embedding_token_gradient(results.emplace_back(Tensor::zeros({V, C})), Write::kOverwrite, dy, tokens);
  embedding_position_gradient(results.emplace_back(Tensor::zeros({T, C})), Write::kOverwrite, dy);
  softmax_cross_entropy(results.emplace_back(Tensor::zeros({B * T})), logits, tokens, 1.0);
  results.push_back(logits);
  const Tensor p = result(wide), m = result(wide), v = result(wide);
  adam_step(p.span<float>(), m.span<float>(), v.span<float>(), wide.span<float>(), {.weight_decay = 0.1});
  results.push_back(Tensor::from<double>(Values{squared_norm(wide.span<float>()), sum(wide)}, {2}));
  return results;
}

std::vector<Tensor> run_everything_with(int threads) {
#ifdef _OPENMP
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
#else
  (void)threads;
#endif
  std::vector<Tensor> results = run_everything();
#ifdef _OPENMP
  omp_set_num_threads(before);
#endif
  return results;
}

}  // namespace

TEST_CASE("results do not depend on the number of threads, bit for bit", "[kernels]") {
  const std::vector<Tensor> alone = run_everything_with(1);
  for (const int threads : {2, 3}) {
    const std::vector<Tensor> together = run_everything_with(threads);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      INFO("result " << i << " with " << threads << " threads");
      CHECK(equal_bits(alone[i], together[i]));
    }
  }
}

TEST_CASE("a matrix product repeats bit for bit", "[kernels]") {
  const Tensor a = random_tensor<float>({65, 130}, 1), b = random_tensor<float>({130, 70}, 2),
               out = Tensor::empty({65, 70});
  matmul(out, a, Transpose::kNo, b, Transpose::kNo);
  const Tensor again = Tensor::empty({65, 70});
  for (int round = 0; round < 3; ++round) {
    matmul(again, a, Transpose::kNo, b, Transpose::kNo);
    CHECK(equal_bits(out, again));
  }
}
