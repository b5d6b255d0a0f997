#include "nn/gpt.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "autograd/autocast.hpp"
#include "autograd/checkpoint.hpp"
#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/attention.hpp"
#include "nn/key_value_cache.hpp"
#include "nn/residual_stream.hpp"

namespace lockstep::nn {

using autograd::Variable;

namespace {

// Dropouts of a model are numbered: 0 after the embedding, then three per block. A checkpointed block draws its masks
// again in backward, so the sample ids are kept here.
class Dropouts {
 public:
  Dropouts(double probability, const ForwardContext& context)
      : probability_(context.is_training ? static_cast<float>(probability) : 0.0F),
        seed_(context.seed),
        step_(context.step),
        sample_ids_(context.sample_ids.begin(), context.sample_ids.end()) {}

  [[nodiscard]] kernels::DropoutMask mask(std::uint64_t layer) const {
    if (probability_ == 0.0F) return {};
    return {probability_, kernels::dropout_key(seed_, step_, layer), sample_ids_};
  }

 private:
  float probability_;
  std::uint64_t seed_;
  std::int64_t step_;
  std::vector<std::int64_t> sample_ids_;
};

// A block's cache during incremental decoding; unused in training.
struct Memory {
  const KeptPositions* kept = nullptr;
  std::int64_t past = 0;  // positions cached already
};

// Attention of new positions to the cached ones. Nothing is recorded for backward.
Variable cached_attention(const Variable& qkv, std::int64_t head_count, const Memory& memory) {
  const Tensor& packed = qkv.value();  // [B, N, 3C]
  const Tensor output =
      Tensor::empty({packed.shape()[0], packed.shape()[1], packed.shape()[2] / 3}, packed.dtype(), packed.device());
  kernels::cached_attention_forward(output, memory.kept->keys, memory.kept->values, packed,
                                    static_cast<int>(head_count), memory.past);
  return Variable(output);  // [B, N, C]
}

Tensor last_position(const Tensor& all) {
  const std::int64_t samples = all.shape()[0], positions = all.shape()[1], channels = all.shape()[2];
  const Tensor rows = all.reshape({samples * positions, channels});
  Tensor last = Tensor::empty({samples, channels}, all.dtype(), all.device());  // [B, C]
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const std::int64_t row = sample * positions + positions - 1;
    last.rows(sample, sample + 1).copy_from(rows.rows(row, row + 1));
  }
  return last;
}

const std::array<GptConfig, 4>& named_configs() {
  static const std::array<GptConfig, 4> kConfigs{{
      {"tiny", 256, 128, 4, 4, 128, 16},
      {"small", 8192, 256, 8, 6, 256, 8},
      {"tutorial", 50257, 512, 8, 6, 127, 32},
      {"124m", 50257, 768, 12, 12, 1024, 8},
  }};
  return kConfigs;
}

}  // namespace

void require_valid(const GptConfig& c) {
  const bool is_positive =
      c.vocabulary_size > 0 && c.channels > 0 && c.head_count > 0 && c.layer_count > 0 && c.context_length > 0;
  require(is_positive, "nn: every size of a GptConfig must be at least 1 (", c.name, ")");
  require(c.channels % c.head_count == 0, "nn: ", c.channels, " channels do not divide into ", c.head_count, " heads");
  require(c.dropout >= 0 && c.dropout < 1, "nn: dropout must be in [0, 1), not ", c.dropout);
}

GptConfig GptConfig::named(std::string_view name) {
  for (const GptConfig& config : named_configs()) {
    if (config.name == name) return config;
  }
  throw FormatError(concat("no model is called '", name, "'; there are tiny, small, tutorial and 124m"));
}

std::vector<std::string> GptConfig::names() {
  std::vector<std::string> names;
  for (const GptConfig& config : named_configs()) names.push_back(config.name);
  return names;
}

/// Attention and MLP, each adding to the residual stream.
class GptBlock : public Module {
 public:
  GptBlock(const GptConfig& config, std::int64_t layer, const InitScope& scope)
      : layer_(static_cast<std::uint64_t>(layer)),
        head_count_(config.head_count),
        ln_1_(child<LayerNorm>("ln_1", config.channels, scope)),
        attn_c_attn_(child<Conv1D>("attn.c_attn", config.channels, 3 * config.channels, scope)),
        attn_c_proj_(child<Conv1D>("attn.c_proj", config.channels, config.channels, scope, small_deviation(config))),
        ln_2_(child<LayerNorm>("ln_2", config.channels, scope)),
        mlp_c_fc_(child<Conv1D>("mlp.c_fc", config.channels, 4 * config.channels, scope)),
        mlp_c_proj_(child<Conv1D>("mlp.c_proj", 4 * config.channels, config.channels, scope, small_deviation(config))) {
  }

  /// @param x       [B, T, C]
  /// @param memory  This block's, in incremental decoding.
  void forward(ResidualStream& x, const Dropouts& dropouts, const Memory& memory) const {
    x.add(attention(x.normalized(ln_1_), dropouts, memory));
    x.add(mlp(x.normalized(ln_2_), dropouts));
  }

 private:
  // [B, T, C] to the same.
  [[nodiscard]] Variable attention(const Variable& x, const Dropouts& dropouts, const Memory& memory) const {
    const Variable qkv = attn_c_attn_(x);  // [B, T, 3C]
    const Variable heads = memory.kept != nullptr
                               ? cached_attention(qkv, head_count_, memory)
                               : autograd::attention(qkv, head_count_, dropouts.mask(3 * layer_ + 1));  // [B, T, C]
    return autograd::dropout(attn_c_proj_(heads), dropouts.mask(3 * layer_ + 2));
  }

  [[nodiscard]] Variable mlp(const Variable& x, const Dropouts& dropouts) const {
    const Variable wide = mlp_c_fc_(x);  // [B, T, 4C]
    return autograd::dropout(mlp_c_proj_.forward_of_gelu(wide), dropouts.mask(3 * layer_ + 3));
  }

  // 2 * layers branches add to the residual stream; this keeps the variance of their sum independent of the depth.
  static double small_deviation(const GptConfig& config) {
    return 0.02 / std::sqrt(2.0 * static_cast<double>(config.layer_count));
  }

  std::uint64_t layer_;
  std::int64_t head_count_;
  LayerNorm& ln_1_;
  Conv1D &attn_c_attn_, &attn_c_proj_;
  LayerNorm& ln_2_;
  Conv1D &mlp_c_fc_, &mlp_c_proj_;
};

namespace {

GptConfig checked(GptConfig config) {
  require_valid(config);
  return config;
}

}  // namespace

Gpt::Gpt(GptConfig config, const InitScope& scope)
    : config_(checked(std::move(config))),
      wte_(child<Embedding>("wte", config_.vocabulary_size, config_.channels, scope)),
      wpe_(child<Embedding>("wpe", config_.context_length, config_.channels, scope)),
      blocks_(make_blocks(scope)),
      ln_f_(child<LayerNorm>("ln_f", config_.channels, scope)) {}

std::vector<GptBlock*> Gpt::make_blocks(const InitScope& scope) {
  std::vector<GptBlock*> blocks;
  for (std::int64_t layer = 0; layer < config_.layer_count; ++layer) {
    blocks.push_back(&child<GptBlock>(concat("h.", layer), config_, layer, scope));
  }
  return blocks;
}

Variable Gpt::loss(const Tensor& inputs, const Tensor& targets, const ForwardContext& context) const {
  require(targets.shape() == inputs.shape(), "nn: Gpt::loss() needs as many targets as inputs, not ", targets.shape(),
          " for ", inputs.shape());
  return autograd::head_cross_entropy(hidden(inputs, context), wte_.weight(), targets);
}

Variable Gpt::logits(const Tensor& inputs, Positions positions) const {
  const autograd::NoGradGuard no_grad;
  return scores(hidden(inputs, {}), positions);
}

Variable Gpt::logits(const Tensor& inputs, KeyValueCache& cache, Positions positions) const {
  const autograd::NoGradGuard no_grad;
  const auto layers = static_cast<std::int64_t>(cache.layers_.size());
  require(layers == config_.layer_count && cache.capacity() == config_.context_length,
          "nn: the KeyValueCache was made for another model: ", layers, " blocks and ", cache.capacity(),
          " positions, not ", config_.layer_count, " and ", config_.context_length);
  Variable x = hidden(inputs, {}, &cache);  // [B, N, C]
  cache.length_ += inputs.shape()[1];       // last: an error above leaves the cache unchanged
  return scores(std::move(x), positions);
}

Variable Gpt::scores(Variable x, Positions positions) const {
  if (positions == Positions::kLast) x = Variable(last_position(x.value()));  // [B, C]
  const Variable scores = autograd::linear(x, wte_.weight(), {});
  return autograd::cast(scores, kernels::accumulation_dtype(scores.value().dtype()));
}

Variable Gpt::hidden(const Tensor& inputs, const ForwardContext& context, KeyValueCache* cache) const {
  const std::int64_t past = cache != nullptr ? cache->length() : 0, room = config_.context_length - past;
  require(inputs.shape().rank() == 2 && inputs.shape()[1] <= room, "nn: Gpt needs tokens [B, T] with T <= ", room,
          ", not ", inputs.shape());
  const auto dropouts = std::make_shared<const Dropouts>(config_.dropout, context);
  const Variable positions =  // [at least T, C]
      past == 0 ? wpe_.weight() : Variable(wpe_.weight().value().rows(past, config_.context_length));
  ResidualStream x(autograd::dropout(autograd::embedding(inputs, wte_.weight(), positions), dropouts->mask(0)));
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const Memory memory{cache != nullptr ? &cache->layers_[layer] : nullptr, past};
    if (!config_.activation_checkpointing) {
      blocks_[layer]->forward(x, *dropouts, memory);
      continue;
    }
    const auto run = [block = blocks_[layer], dropouts, memory](std::span<const Variable> given) {
      ResidualStream stream(given);
      block->forward(stream, *dropouts, memory);
      return stream.take();
    };
    x = ResidualStream(autograd::checkpoint(run, x.take()));
  }
  return x.normalized(ln_f_);
}

}  // namespace lockstep::nn
