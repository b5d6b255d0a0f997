#pragma once
/// @file
/// LLaMA as somebody writes it who has only the library: parameters, primitives and layers, none of it made for it.
/// Letters: B samples, T positions, C channels, H heads, D = C / H, V vocabulary.
/// @source Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, section 2.2; names are those
/// of Hugging Face's LlamaForCausalLM.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/primitives.hpp"
#include "nn/layers.hpp"
#include "nn/module.hpp"

namespace lockstep::test {

using autograd::Variable;

struct LlamaConfig {
  std::int64_t vocabulary_size, channels, head_count, hidden, layer_count, context_length;
};

class RmsNorm : public nn::Layer {
 public:
  RmsNorm(std::int64_t channels, const nn::InitScope& scope)
      : weight_(register_parameter("weight", scope.constant({channels}, 1))) {}
  [[nodiscard]] Variable forward(const Variable& x) const override { return autograd::rms_norm(x, weight_, 1e-5); }

 private:
  Variable weight_;
};

class LlamaAttention : public nn::Layer {
 public:
  LlamaAttention(const LlamaConfig& config, const nn::InitScope& scope)
      : heads_(config.head_count),
        head_size_(config.channels / config.head_count),
        q_proj_(child<nn::Linear>("q_proj", config.channels, config.channels, scope, nn::Bias::kNo)),
        k_proj_(child<nn::Linear>("k_proj", config.channels, config.channels, scope, nn::Bias::kNo)),
        v_proj_(child<nn::Linear>("v_proj", config.channels, config.channels, scope, nn::Bias::kNo)),
        o_proj_(child<nn::Linear>("o_proj", config.channels, config.channels, scope, nn::Bias::kNo)),
        cos_(register_buffer("rotary.cos", table(config, scope).cos.to(scope.device()))),
        sin_(register_buffer("rotary.sin", table(config, scope).sin.to(scope.device()))),
        mask_(register_buffer("mask", causal_mask(config.context_length, scope))) {}

  // x is [B, T, C] with T the context length.
  [[nodiscard]] Variable forward(const Variable& x) const override {
    const autograd::RotaryTable positions{cos_.value(), sin_.value()};
    const Variable q = autograd::apply_rotary_pos_emb(split(q_proj_(x)), positions);  // [B, H, T, D]
    const Variable k = autograd::apply_rotary_pos_emb(split(k_proj_(x)), positions);
    const Variable v = split(v_proj_(x));
    const double scale = 1 / std::sqrt(static_cast<double>(head_size_));
    const Variable scores = autograd::mul(autograd::matmul(q, autograd::transpose(k, -1, -2)), scale);
    const Variable shares = autograd::softmax(autograd::add(scores, Variable(mask_.value())));  // [B, H, T, T]
    const Variable mixed = autograd::transpose(autograd::matmul(shares, v), 1, 2);              // [B, T, H, D]
    return o_proj_(autograd::reshape(mixed, x.value().shape()));
  }

 private:
  static autograd::RotaryTable table(const LlamaConfig& config, const nn::InitScope& scope) {
    return autograd::RotaryTable::make(config.context_length, config.channels / config.head_count, 10000.0,
                                       scope.dtype());
  }
  // 0 up to the diagonal, -infinity after it.
  static Tensor causal_mask(std::int64_t positions, const nn::InitScope& scope) {
    const Tensor mask = scope.constant({positions, positions}, 0).to(Device{});
    for (std::int64_t i = 0; i < positions; ++i) {
      for (std::int64_t j = i + 1; j < positions; ++j) {
        const auto place = static_cast<std::size_t>(i * positions + j);
        if (scope.dtype() == DType::kFloat64) {
          mask.span<double>()[place] = -std::numeric_limits<double>::infinity();
        } else {
          mask.span<float>()[place] = -std::numeric_limits<float>::infinity();
        }
      }
    }
    return mask.to(scope.device());
  }
  [[nodiscard]] Variable split(const Variable& x) const {
    const Shape& shape = x.value().shape();
    return autograd::transpose(autograd::reshape(x, {shape[0], shape[1], heads_, head_size_}), 1, 2);
  }

  std::int64_t heads_, head_size_;
  nn::Linear &q_proj_, &k_proj_, &v_proj_, &o_proj_;
  nn::Buffer cos_, sin_, mask_;
};

// SwiGLU.
class LlamaMlp : public nn::Layer {
 public:
  LlamaMlp(const LlamaConfig& config, const nn::InitScope& scope)
      : gate_proj_(child<nn::Linear>("gate_proj", config.channels, config.hidden, scope, nn::Bias::kNo)),
        up_proj_(child<nn::Linear>("up_proj", config.channels, config.hidden, scope, nn::Bias::kNo)),
        down_proj_(child<nn::Linear>("down_proj", config.hidden, config.channels, scope, nn::Bias::kNo)) {}
  [[nodiscard]] Variable forward(const Variable& x) const override {
    return down_proj_(autograd::mul(autograd::silu(gate_proj_(x)), up_proj_(x)));
  }

 private:
  nn::Linear &gate_proj_, &up_proj_, &down_proj_;
};

class LlamaBlock : public nn::Layer {
 public:
  LlamaBlock(const LlamaConfig& config, const nn::InitScope& scope)
      : input_layernorm_(child<RmsNorm>("input_layernorm", config.channels, scope)),
        self_attn_(child<LlamaAttention>("self_attn", config, scope)),
        post_attention_layernorm_(child<RmsNorm>("post_attention_layernorm", config.channels, scope)),
        mlp_(child<LlamaMlp>("mlp", config, scope)) {}
  [[nodiscard]] Variable forward(const Variable& x) const override {
    const Variable attended = autograd::add(x, self_attn_(input_layernorm_(x)));
    return autograd::add(attended, mlp_(post_attention_layernorm_(attended)));
  }

 private:
  RmsNorm& input_layernorm_;
  LlamaAttention& self_attn_;
  RmsNorm& post_attention_layernorm_;
  LlamaMlp& mlp_;
};

class Llama : public nn::Module {
 public:
  Llama(const LlamaConfig& config, const nn::InitScope& scope)
      : embed_tokens_(child<nn::Embedding>("model.embed_tokens", config.vocabulary_size, config.channels, scope)),
        layers_(make_layers(config, scope)),
        norm_(child<RmsNorm>("model.norm", config.channels, scope)),
        lm_head_(child<nn::Linear>("lm_head", config.channels, config.vocabulary_size, scope, nn::Bias::kNo)) {}

  // tokens are [B, T]; [B, T, V].
  [[nodiscard]] Variable logits(const Tensor& tokens) const {
    return lm_head_(norm_(layers_(autograd::embedding(tokens, embed_tokens_.weight(), {}))));
  }
  [[nodiscard]] Variable loss(const Tensor& tokens, const Tensor& targets) const {
    return autograd::cross_entropy(logits(tokens), targets);
  }

 private:
  nn::Sequential& make_layers(const LlamaConfig& config, const nn::InitScope& scope) {
    auto& layers = child<nn::Sequential>("model.layers");
    for (std::int64_t i = 0; i < config.layer_count; ++i) layers.append<LlamaBlock>(config, scope);
    return layers;
  }

  nn::Embedding& embed_tokens_;
  nn::Sequential& layers_;
  RmsNorm& norm_;
  nn::Linear& lm_head_;
};

}  // namespace lockstep::test
