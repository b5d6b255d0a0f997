// Times every operation on the shapes of the tiny, small and tutorial models beside the machine's multiply-add peak and
// raw oneDNN. Not part of the test suite.
//   OMP_NUM_THREADS=2 ./kernels_bench [tiny|small|tutorial] [rounds] [cpu]
// `cpu` takes the least processor time instead of the median wall time: for one thread on a busy machine.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "kernels/ops.hpp"
#ifdef LOCKSTEP_HAVE_ONEDNN
#include <dnnl.hpp>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

using namespace lockstep;
using namespace lockstep::kernels;

namespace {

struct Model {
  std::int64_t V, C, H, layers, T, B;
};

const std::map<std::string, Model> kModels{{"tiny", {256, 128, 4, 4, 128, 16}},
                                           {"small", {8192, 256, 8, 6, 256, 8}},
                                           {"tutorial", {50257, 512, 8, 6, 127, 32}}};

int rounds = 15;
bool use_processor_time = false;

double now() {
  if (use_processor_time) {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const std::function<void()>& body) {
  const double begin = now();
  body();
  return now() - begin;
}

double median_seconds(const std::function<void()>& body) {
  body();
  std::vector<double> times(static_cast<std::size_t>(rounds));
  for (double& time : times) time = seconds_of(body);
  if (use_processor_time) return std::ranges::min(times);
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

Tensor filled(const Shape& shape) {
  Tensor tensor = Tensor::empty(shape);
  std::uint32_t state = 1;
  for (float& value : tensor.span<float>()) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) * 0x1.0p-24F - 0.5F;
  }
  return tensor;
}

/// Multiply-adds of all threads that are not limited by memory, GFLOP/s.
double peak_gflops() {
  constexpr std::int64_t kIterations = 400'000;
  // As many sums as registers hold beside the two factors: enough for two units with a latency of four cycles.
#ifdef __AVX512F__
  constexpr int kLanes = 16, kSums = 24;
#else
  constexpr int kLanes = 8, kSums = 12;
#endif
  using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
  int threads = 1;
#ifdef _OPENMP
  threads = omp_get_max_threads();
#endif
  float sink = 0;
  const double seconds = median_seconds([&] {
#ifdef _OPENMP
#pragma omp parallel reduction(+ : sink)
#endif
    {
      Vector sums[kSums], x = Vector{} + 0.999999F, y = Vector{} + 1e-7F;
#pragma GCC unroll 24
      for (int i = 0; i < kSums; ++i) sums[i] = Vector{} + static_cast<float>(i);
      for (std::int64_t n = 0; n < kIterations; ++n) {
#pragma GCC unroll 24
        for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * x + y;
      }
#pragma GCC unroll 24
      for (int i = 0; i < kSums; ++i) sink += sums[i][0];
    }
  });
  if (sink == 12345.0F) std::cout << "";
  return static_cast<double>(threads) * 2 * kLanes * kSums * kIterations / seconds * 1e-9;
}

class Table {
 public:
  explicit Table(double peak) : peak_(peak) {}

  void row(const std::string& name, double times_per_step, double flops, double bytes,
           const std::function<void()>& body, const std::function<void()>& raw = {}) {
    const double seconds = median_seconds(body);
    total_ += seconds * times_per_step;
    std::cout << std::left << std::setw(34) << name << std::right << std::fixed << std::setprecision(3) << std::setw(9)
              << seconds * 1e3 << std::setw(10) << seconds * 1e3 * times_per_step << std::setprecision(0)
              << std::setw(8) << flops / seconds * 1e-9 << std::setw(6) << flops / seconds * 1e-7 / peak_ << " %"
              << std::setprecision(1) << std::setw(8) << bytes / seconds * 1e-9;
    if (raw) std::cout << std::setprecision(0) << std::setw(8) << flops / median_seconds(raw) * 1e-9;
    std::cout << '\n';
  }
  void finish() const { std::cout << "sum over a step: " << std::setprecision(2) << total_ * 1e3 << " ms\n"; }

 private:
  double peak_, total_ = 0;
};

/// One product of a model, with the same one through oneDNN's own call.
void product_row(Table& table, const std::string& name, double times, const Tensor& out, const Tensor& a, Transpose ta,
                 const Tensor& b, Transpose tb, Write write = Write::kOverwrite) {
  const std::int64_t M = out.shape()[0], N = out.shape()[1], K = ta == Transpose::kYes ? a.shape()[0] : a.shape()[1];
  std::function<void()> raw;
#ifdef LOCKSTEP_HAVE_ONEDNN
  raw = [&, M, N, K] {
    const auto letter = [](Transpose t) { return t == Transpose::kYes ? 'T' : 'N'; };
    dnnl::sgemm(letter(ta), letter(tb), M, N, K, 1.0F, static_cast<const float*>(a.data()), a.shape()[1],
                static_cast<const float*>(b.data()), b.shape()[1], write == Write::kAdd ? 1.0F : 0.0F,
                static_cast<float*>(out.data()), N);
  };
#endif
  const auto count = static_cast<double>(M * N + M * K + K * N);
  table.row(
      name, times, 2.0 * static_cast<double>(M * N * K), 4 * count, [&] { matmul(out, a, ta, b, tb, write); }, raw);
}

void products(Table& table, const Model& m) {
  const std::int64_t R = m.B * m.T, C = m.C;
  const auto layers = static_cast<double>(m.layers);
  struct Layer {
    std::string name;
    std::int64_t K, N;
  };
  for (const Layer& layer :
       {Layer{"qkv", C, 3 * C}, Layer{"projection", C, C}, Layer{"fc", C, 4 * C}, Layer{"fc projection", 4 * C, C}}) {
    const Tensor x = filled({R, layer.K}), w = filled({layer.K, layer.N}), y = filled({R, layer.N});
    const Tensor bias = filled({layer.N});
    const auto flops = 2.0 * static_cast<double>(R * layer.K * layer.N);
    table.row(layer.name + " forward + bias", layers, flops, 4.0 * static_cast<double>(x.count() + y.count()),
              [&] { linear_forward(y, x, w, Transpose::kNo, bias); });
    product_row(table, layer.name + " forward", 0, y, x, Transpose::kNo, w, Transpose::kNo);
    product_row(table, layer.name + " dx", layers, x, y, Transpose::kNo, w, Transpose::kYes);
    product_row(table, layer.name + " dw", layers, w, x, Transpose::kYes, y, Transpose::kNo);
    product_row(table, layer.name + " dw add", 0, w, x, Transpose::kYes, y, Transpose::kNo, Write::kAdd);
    table.row(layer.name + " db", layers, static_cast<double>(y.count()), 4.0 * static_cast<double>(y.count()),
              [&] { bias_gradient(bias, Write::kOverwrite, y); });
  }
}

void head(Table& table, const Model& m) {
  const std::int64_t R = m.B * m.T;
  const Tensor x = filled({R, m.C}), w = filled({m.V, m.C}), dx = filled({R, m.C}), dw = filled({m.V, m.C});
  const Tensor targets = Tensor::zeros({R}, DType::kInt32), losses = Tensor::empty({R});
  {
    const Tensor logits = filled({R, m.V});
    product_row(table, "head forward", 0, logits, x, Transpose::kNo, w, Transpose::kYes);
    product_row(table, "head dx", 0, dx, logits, Transpose::kNo, w, Transpose::kNo);
    product_row(table, "head dw", 0, dw, logits, Transpose::kYes, x, Transpose::kNo);
    const auto count = static_cast<double>(logits.count());
    table.row("softmax_cross_entropy", 0, 4 * count, 8 * count,
              [&] { softmax_cross_entropy(losses, logits, targets, 1e-3); });
  }
  release_cached_memory();
  table.row("linear_cross_entropy", 1, 6.0 * static_cast<double>(R * m.V * m.C), 0,
            [&] { linear_cross_entropy(losses, dx, dw, Write::kOverwrite, x, w, targets, 1e-3); });
}

void rest(Table& table, const Model& m) {
  const Shape hidden{m.B, m.T, m.C};
  const auto layers = static_cast<double>(m.layers), count = static_cast<double>(hidden.count());
  const Tensor x = filled(hidden), y = filled(hidden), z = filled(hidden), gain = filled({m.C}), bias = filled({m.C});
  const Tensor qkv = filled({m.B, m.T, 3 * m.C}), dqkv = filled(qkv.shape()), lse = filled({m.B, m.H, m.T});
  const double pair_flops = static_cast<double>(m.B * m.T * m.T * m.C);
  const int heads = static_cast<int>(m.H);
  table.row("attention forward", layers, 2 * pair_flops, 16 * count,
            [&] { causal_attention_forward(y, lse, qkv, heads); });
  table.row("attention backward", layers, 5 * pair_flops, 32 * count,
            [&] { causal_attention_backward(dqkv, x, y, lse, qkv, heads); });
  const LayerNormStatistics statistics = LayerNormStatistics::for_rows_of(x);
  table.row("layer norm", 1, 8 * count, 8 * count, [&] { layer_norm_forward(y, statistics, x, gain, bias); });
  table.row("add + layer norm", 2 * layers, 9 * count, 16 * count,
            [&] { add_layer_norm_forward(y, x, statistics, x, z, gain, bias); });
  table.row("layer norm backward", 2 * layers + 1, 16 * count, 16 * count,
            [&] { layer_norm_backward(z, y, statistics, x, gain, gain, bias, Write::kOverwrite, z); });
  const Tensor wide = filled({m.B, m.T, 4 * m.C}), wide_out = filled(wide.shape());
  table.row("gelu", layers, 40 * count, 32 * count, [&] { gelu_forward(wide_out, wide); });
  table.row("gelu backward", layers, 60 * count, 48 * count,
            [&] { gelu_backward(wide_out, Write::kOverwrite, wide_out, wide); });
  const std::vector<std::int64_t> ids(static_cast<std::size_t>(m.B), 3);
  const DropoutMask mask{.probability = 0.1F, .key = 1, .sample_ids = ids};
  table.row("dropout + residual", 0, count, 12 * count, [&] { dropout_forward(y, x, mask, z); });
  const Tensor table_gradient = filled({m.V, m.C}), tokens = Tensor::zeros({m.B, m.T}, DType::kInt32);
  for (std::size_t i = 0; i < tokens.span<std::int32_t>().size(); ++i) {
    tokens.span<std::int32_t>()[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) * 7 % m.V);
  }
  const Tensor positions = filled({m.T, m.C});
  table.row("embedding", 1, count, 12 * count, [&] { embedding_forward(y, tokens, table_gradient, positions); });
  table.row("embedding backward", 1, count, 12 * count, [&] {
    embedding_token_gradient(table_gradient, Write::kAdd, y, tokens);
    embedding_position_gradient(positions, Write::kOverwrite, y);
  });
  const Tensor p = filled({m.V * m.C + m.layers * 12 * m.C * m.C}), first = filled(p.shape());
  const Tensor second = Tensor::zeros(p.shape()), gradient = filled(p.shape());
  const auto parameters = static_cast<double>(p.count());
  table.row("squared norm", 1, 2 * parameters, 4 * parameters, [&] { (void)squared_norm(gradient.span<float>()); });
  table.row("AdamW", 1, 15 * parameters, 28 * parameters,
            [&] { adam_step(p.span<float>(), first.span<float>(), second.span<float>(), gradient.span<float>(), {}); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "tiny";
  if (argc > 2) rounds = std::max(1, std::atoi(argv[2]));
  use_processor_time = argc > 3;
  if (name != "peak" && !kModels.contains(name)) {
    std::cerr << "kernels_bench: no model '" << name
              << "'; there are tiny, small and tutorial, and 'peak' for the peak alone\n";
    return 2;
  }
  const double peak = peak_gflops();
  if (name == "peak") {
    std::cout << peak << '\n';
    return 0;
  }
  std::cout << name << ", multiply-add peak " << std::fixed << std::setprecision(0) << peak << " GFLOP/s\n"
            << std::left << std::setw(34) << "operation" << std::right << std::setw(9) << "ms" << std::setw(10)
            << "ms/step" << std::setw(8) << "GFLOP/s" << std::setw(8) << "peak" << std::setw(8) << "GB/s"
            << std::setw(8) << "oneDNN" << '\n';
  Table table(peak);
  const Model& model = kModels.at(name);
  rest(table, model);
  products(table, model);
  head(table, model);
  table.finish();
}
