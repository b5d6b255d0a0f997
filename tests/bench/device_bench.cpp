// device_bench [--only NAME] [--dtype TYPE] [--samples B] [--once] [--list] [--tiny]: times the operations of a GPU on
// the shapes of GPT-2 124M with 8 samples, or B. One JSON object a line, written when it is known, with the bytes that
// the operation cannot avoid moving and its floating-point operations: tests/gpu_session/session holds them against
// what the GPU's memory and cuBLAS reach. Inputs are random, and before each call other data fill the cache.
#include "device_bench.hpp"

#include "base/command_line.hpp"
#include "base/error.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using bench::DeviceBench;

namespace {

// Forward with bias, the gradient of the input, that of the weight, that of the bias.
void add_linear_layers(DeviceBench& bench, DType dtype) {
  const auto& [B, T, C, H, V, L, R, P] = bench.sizes;
  struct Layer {
    std::string name;
    std::int64_t inputs, outputs;
  };
  const auto element = static_cast<std::int64_t>(bytes_of(dtype));
  for (const Layer& layer :
       {Layer{"qkv", C, 3 * C}, Layer{"projection", C, C}, Layer{"fc", C, 4 * C}, Layer{"fc_projection", 4 * C, C}}) {
    const std::int64_t K = layer.inputs, N = layer.outputs, operations = 2 * R * K * N;
    const std::int64_t bytes = element * (R * K + K * N + R * N);
    bench.add({layer.name + "_forward", dtype, L, bytes, operations}, [&] {
      return [x = bench.random({R, K}, dtype), w = bench.random({K, N}, dtype), y = bench.random({R, N}, dtype),
              bias = bench.random({N})] { linear_forward(y, x, w, Transpose::kNo, bias); };
    });
    bench.add({layer.name + "_input_gradient", dtype, L, bytes, operations}, [&] {
      return [dx = bench.random({R, K}, dtype), w = bench.random({K, N}, dtype), dy = bench.random({R, N}, dtype)] {
        linear_input_gradient(dx, Write::kOverwrite, dy, w, Transpose::kNo);
      };
    });
    bench.add({layer.name + "_weight_gradient", dtype, L, element * (R * K + R * N) + 4 * K * N, operations}, [&] {
      return [x = bench.random({R, K}, dtype), dw = bench.random({K, N}), dy = bench.random({R, N}, dtype)] {
        linear_weight_gradient(dw, Write::kOverwrite, x, dy, Transpose::kNo);
      };
    });
    bench.add({layer.name + "_bias_gradient", dtype, L, element * R * N, R * N}, [&] {
      return [db = bench.random({N}), dy = bench.random({R, N}, dtype)] { bias_gradient(db, Write::kOverwrite, dy); };
    });
  }
}

void add_head(DeviceBench& bench, DType dtype) {
  const auto& [B, T, C, H, V, L, R, P] = bench.sizes;
  const auto element = static_cast<std::int64_t>(bytes_of(dtype));
  const std::int64_t bytes = element * (R * C + V * C + R * V), operations = 2 * R * C * V;
  const auto logits = [&] { return bench.random({R, V}, dtype); };
  const auto losses = [&] { return bench.random({R}); };
  bench.add({"head_forward", dtype, 1, bytes, operations}, [&] {
    return [out = logits(), x = bench.random({R, C}, dtype), w = bench.random({V, C}, dtype)] {
      matmul(out, x, Transpose::kNo, w, Transpose::kYes);
    };
  });
  bench.add({"head_input_gradient", dtype, 1, bytes, operations}, [&] {
    return [dy = logits(), dx = bench.random({R, C}, dtype), w = bench.random({V, C}, dtype)] {
      matmul(dx, dy, Transpose::kNo, w, Transpose::kNo);
    };
  });
  bench.add({"head_weight_gradient", dtype, 1, element * (R * C + R * V) + 4 * V * C, operations}, [&] {
    return [dy = logits(), x = bench.random({R, C}, dtype), dw = bench.random({V, C})] {
      matmul(dw, dy, Transpose::kYes, x, Transpose::kNo);
    };
  });
  bench.add({"softmax_cross_entropy", dtype, 1, 2 * element * R * V, 4 * R * V}, [&] {
    return [out = losses(), values = logits(), targets = bench.random_tokens()] {
      softmax_cross_entropy(out, values, targets, 1e-3);
    };
  });
  bench.add({"cross_entropy_loss", dtype, 0, element * R * V, 3 * R * V}, [&] {
    return [out = losses(), values = logits(), targets = bench.random_tokens()] {
      cross_entropy_loss(out, values, targets);
    };
  });
  // Head, loss and both gradients, in chunks of rows.
  bench.add({"linear_cross_entropy", dtype, 0, element * (2 * R * C + V * C) + 4 * V * C, 3 * operations}, [&] {
    return [out = losses(), x = bench.random({R, C}, dtype), dx = bench.random({R, C}, dtype),
            w = bench.random({V, C}, dtype), dw = bench.random({V, C}), targets = bench.random_tokens()] {
      linear_cross_entropy(out, dx, dw, Write::kOverwrite, x, w, targets, 1e-3);
    };
  });
}

void add_attention_and_norms(DeviceBench& bench, DType dtype) {
  const auto& [B, T, C, H, V, L, R, P] = bench.sizes;
  const auto element = static_cast<std::int64_t>(bytes_of(dtype));
  const std::int64_t hidden = element * R * C, pairs = B * T * T * C;  // causal: half of all pairs, 2 operations each
  const auto rows = [&](std::int64_t columns) { return bench.random({B, T, columns}, dtype); };
  const auto channels = [&] { return bench.random({C}); };
  const int heads = static_cast<int>(H);
  bench.add({"attention_forward", dtype, L, 4 * hidden, 2 * pairs}, [&] {
    return [out = rows(C), lse = bench.random({B, H, T}), qkv = rows(3 * C), heads] {
      causal_attention_forward(out, lse, qkv, heads);
    };
  });
  bench.add({"attention_backward", dtype, L, 8 * hidden, 5 * pairs}, [&] {
    const Tensor out = rows(C), lse = bench.random({B, H, T}), qkv = rows(3 * C);
    causal_attention_forward(out, lse, qkv, heads);
    return [out, lse, qkv, dqkv = rows(3 * C), dy = rows(C), heads] {
      causal_attention_backward(dqkv, dy, out, lse, qkv, heads);
    };
  });
  bench.add({"layer_norm_forward", dtype, 1, 2 * hidden, 8 * R * C}, [&] {
    const Tensor x = rows(C);
    return [x, y = rows(C), statistics = LayerNormStatistics::for_rows_of(x), gain = channels(), bias = channels()] {
      layer_norm_forward(y, statistics, x, gain, bias);
    };
  });
  bench.add({"add_layer_norm_forward", dtype, 2 * L, 4 * hidden, 9 * R * C}, [&] {
    const Tensor a = rows(C);
    return [a, b = rows(C), sum = rows(C), y = rows(C), statistics = LayerNormStatistics::for_rows_of(a),
            gain = channels(), bias = channels()] { add_layer_norm_forward(y, sum, statistics, a, b, gain, bias); };
  });
  bench.add({"layer_norm_backward", dtype, 2 * L + 1, 4 * hidden, 16 * R * C}, [&] {
    const Tensor x = rows(C), y = rows(C), gain = channels(), bias = channels();
    const auto statistics = LayerNormStatistics::for_rows_of(x);
    layer_norm_forward(y, statistics, x, gain, bias);
    return [=, dx = rows(C), dy = rows(C), skip = rows(C), dgain = channels(), dbias = channels()] {
      layer_norm_backward(dx, dy, statistics, x, gain, dgain, dbias, Write::kOverwrite, skip);
    };
  });
}

void add_elementwise(DeviceBench& bench, DType dtype) {
  const auto& [B, T, C, H, V, L, R, P] = bench.sizes;
  const auto element = static_cast<std::int64_t>(bytes_of(dtype));
  const std::int64_t count = R * 4 * C;  // what GELU sees
  const auto make = [&] { return bench.random({R, 4 * C}, dtype); };
  const auto tensors = [&](const std::string& name, std::int64_t times, std::int64_t moved, std::int64_t operations,
                           auto body) {
    bench.add({name, dtype, times, moved * element * count, operations * count},
              [&] { return [a = make(), b = make(), c = make(), body] { body(a, b, c); }; });
  };
  tensors("gelu_forward", L, 2, 10, [](auto& a, auto& b, auto&) { gelu_forward(a, b); });
  tensors("gelu_backward", L, 3, 15, [](auto& a, auto& b, auto& c) { gelu_backward(a, Write::kOverwrite, b, c); });
  tensors("gelu_backward_again", 0, 3, 25, [](auto& a, auto& b, auto& c) { gelu_backward_again(a, b, c); });
  tensors("relu_forward", 0, 2, 1, [](auto& a, auto& b, auto&) { relu_forward(a, b); });
  tensors("relu_backward", 0, 3, 1, [](auto& a, auto& b, auto& c) { relu_backward(a, Write::kOverwrite, b, c); });
  tensors("add", 0, 3, 1, [](auto& a, auto& b, auto& c) { add(a, b, c); });
  tensors("add_scaled", 0, 3, 2, [](auto& a, auto& b, auto&) { add_scaled(a, 1e-3, b); });
  tensors("scale", 0, 2, 1, [](auto& a, auto&, auto&) { scale(a, 0.999); });
  if (dtype == DType::kFloat32) {
    bench.add({"add_bias", dtype, 0, 2 * element * count, count},
              [&] { return [out = make(), x = make(), bias = bench.random({4 * C})] { add_bias(out, x, bias); }; });
  }
  bench.add({"dropout_forward", dtype, 0, 3 * element * R * C, R * C}, [&] {
    return
        [out = bench.random({B, T, C}, dtype), x = bench.random({B, T, C}, dtype),
         residual = bench.random({B, T, C}, dtype), ids = std::vector<std::int64_t>(static_cast<std::size_t>(B), 5)] {
          dropout_forward(out, x, {.probability = 0.1F, .key = 1, .sample_ids = ids}, residual);
        };
  });
  bench.add({"embedding_forward", dtype, 1, (4 + element) * R * C, R * C}, [&] {
    return [out = bench.random({B, T, C}, dtype), tokens = bench.random_tokens(), words = bench.random({V, C}),
            places = bench.random({T, C})] { embedding_forward(out, tokens, words, places); };
  });
  bench.add({"embedding_token_gradient", dtype, 1, (8 + element) * R * C, R * C}, [&] {
    return [dy = bench.random({B, T, C}, dtype), tokens = bench.random_tokens(), dw = bench.random({V, C})] {
      embedding_token_gradient(dw, Write::kAdd, dy, tokens);
    };
  });
  bench.add({"embedding_position_gradient", dtype, 1, element * R * C + 4 * T * C, R * C}, [&] {
    return [dy = bench.random({B, T, C}, dtype), dw = bench.random({T, C})] {
      embedding_position_gradient(dw, Write::kOverwrite, dy);
    };
  });
}

// All parameters at once. Sums come back to the host: their time holds that wait.
void add_updates(DeviceBench& bench) {
  const auto& [B, T, C, H, V, L, R, P] = bench.sizes;
  const auto parameters = [&] { return bench.random({P}); };
  constexpr DType kFloat = DType::kFloat32;
  bench.add({"adam_step", kFloat, 1, 28 * P, 15 * P}, [&] {
    const Tensor second = bench.random({P});
    fill(second, 0.01);  // a square
    return [second, p = parameters(), first = parameters(), g = parameters()] { adam_step(p, first, second, g, {}); };
  });
  bench.add({"sgd_step", kFloat, 0, 20 * P, 4 * P}, [&] {
    return [p = parameters(), v = parameters(), g = parameters()] {
      sgd_step(p, v, g, {.learning_rate = 1e-3, .momentum = 0.9});
    };
  });
  bench.add({"cast_of_weights", DType::kBFloat16, 1, 6 * P, P},
            [&] { return [p = parameters(), rounded = bench.random({P}, DType::kBFloat16)] { cast(rounded, p); }; });
  bench.add({"fill", kFloat, 0, 4 * P, 0}, [&] { return [p = parameters()] { fill(p, 0.5); }; });
  bench.add({"squared_norm", kFloat, 1, 4 * P, 2 * P},
            [&] { return [p = parameters()] { static_cast<void>(squared_norm(std::span(&p, 1))); }; });
  bench.add({"is_finite", kFloat, 0, 4 * P, P},
            [&] { return [p = parameters()] { static_cast<void>(is_finite(p)); }; });
  bench.add({"sum", kFloat, 0, 4 * P, P}, [&] { return [p = parameters()] { static_cast<void>(sum(p)); }; });
  bench.add({"mean_squared_error", kFloat, 0, 12 * P, 4 * P}, [&] {
    return [p = parameters(), t = parameters(), g = parameters()] { static_cast<void>(mean_squared_error(g, p, t)); };
  });
}

int run(const bench::Options& options) {
  if (!options.list) Device::parse(options.device).require_available();
  if (options.device != "cuda" && !options.tiny && !options.list)
    throw UsageError("a time says something on a GPU only: --device emulated needs --tiny");
  if (options.samples < 1 || options.samples > 64)
    throw UsageError(concat("--samples ", options.samples, ": give 1 to 64"));
  DeviceBench bench(options);
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    add_linear_layers(bench, dtype);
    add_head(bench, dtype);
    add_attention_and_norms(bench, dtype);
    add_elementwise(bench, dtype);
  }
  add_updates(bench);
  if (bench.count() == 0) throw UsageError("no operation is called " + options.only + "; --list names them");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Times every operation of a GPU on the shapes of GPT-2 124M");
  bench::Options options;
  app.add_option("--only", options.only, "One operation, by its name");
  app.add_option("--dtype", options.dtype, "float32 or bfloat16 only");
  app.add_option("--samples", options.samples, "Samples of a batch (8), 1 to 64");
  app.add_flag("--once", options.once, "One call of each, for a profiler");
  app.add_option("--device", options.device, "cuda; or emulated, with --tiny");
  app.add_flag("--tiny", options.tiny, "Tiny sizes: whether all operations run, never how fast");
  app.add_flag("--list", options.list, "Names of the operations; needs no GPU");
  return run_main(app, argc, argv, [&] { return run(options); });
}
