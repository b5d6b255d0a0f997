#include "nn/gpt_part.hpp"

#include <cmath>
#include <span>
#include <utility>

#include "autograd/checkpoint.hpp"
#include "autograd/functions.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/attention.hpp"
#include "nn/key_value_cache.hpp"
#include "nn/residual_stream.hpp"

namespace lockstep::nn {

using autograd::Variable;

namespace {

// The shape and the dropouts of a forward pass. Dropouts of a model are numbered: 0 after the embedding, then three per
// block. A checkpointed block draws its masks again in backward, so the sample ids are kept here.
class Pass {
 public:
  // @param samples  [B, T, ...]
  Pass(double probability, const ForwardContext& context, const Shape& samples, StreamShare share)
      : probability_(context.is_training ? static_cast<float>(probability) : 0.0F),
        seed_(context.seed),
        step_(context.step),
        sample_ids_(context.sample_ids.begin(), context.sample_ids.end()),
        positions_(samples[1]),
        rows_(samples[0] * samples[1]),
        share_(share) {
    require(share.ranks == 1 || positions_ > 0, "nn: ", share.ranks, " ranks divide the rows of a GPT's stream, and ",
            "the samples have no positions; pass tokens [B, T] with T >= 1");
    require(rows_ % share.ranks == 0, "nn: ", share.ranks, " ranks cannot divide ", samples[0], " samples of ",
            positions_, " positions equally");
  }

  // T
  [[nodiscard]] std::int64_t positions() const { return positions_; }

  // For [B, ...].
  [[nodiscard]] kernels::DropoutMask mask(std::uint64_t layer) const {
    if (probability_ == 0.0F) return {};
    return {probability_, kernels::dropout_key(seed_, step_, layer), sample_ids_};
  }

  // For the rows of the stream that this rank has.
  [[nodiscard]] kernels::DropoutMask stream_mask(std::uint64_t layer) const {
    kernels::DropoutMask mask = this->mask(layer);
    if (!mask.is_active() || share_.ranks == 1) return mask;
    mask.rows_per_sample = positions_;
    mask.first_row = rows_ / share_.ranks * share_.rank;
    return mask;
  }

 private:
  float probability_;
  std::uint64_t seed_;
  std::int64_t step_;
  std::vector<std::int64_t> sample_ids_;
  std::int64_t positions_;
  std::int64_t rows_;  // of all ranks
  StreamShare share_;
};

// [B, T, channels], also if `x` has one row after the other.
Variable by_samples(const Variable& x, std::int64_t positions) {
  if (x.shape().rank() == 3) return x;
  return autograd::reshape(x, {x.shape()[0] / positions, positions, x.shape()[1]});
}

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

}  // namespace

/// Attention and MLP, each adding to the residual stream.
class GptBlock : public Module {
 public:
  GptBlock(const GptConfig& config, std::int64_t layer, const InitScope& scope, const GptLayers& layers)
      : layer_(static_cast<std::uint64_t>(layer)),
        heads_(layers.heads(config)),
        ln_1_(own("ln_1", layers.norm(config.channels, scope.child("ln_1")))),
        attn_c_attn_(
            own("attn.c_attn", layers.wide(config.channels, 3 * config.channels, 3, scope.child("attn.c_attn")))),
        attn_c_proj_(own("attn.c_proj", layers.narrow(config.channels, config.channels, small_deviation(config),
                                                      scope.child("attn.c_proj")))),
        ln_2_(own("ln_2", layers.norm(config.channels, scope.child("ln_2")))),
        mlp_c_fc_(own("mlp.c_fc", layers.wide(config.channels, 4 * config.channels, 1, scope.child("mlp.c_fc")))),
        mlp_c_proj_(own("mlp.c_proj", layers.narrow(4 * config.channels, config.channels, small_deviation(config),
                                                    scope.child("mlp.c_proj")))) {}

  /// @param x       [B, T, C], or this rank's rows of it, as everywhere in a block.
  /// @param memory  This block's, in incremental decoding.
  void forward(ResidualStream& x, const Pass& pass, const Memory& memory) const {
    x.add(attention(x.normalized(ln_1_), pass, memory));
    x.add(mlp(x.normalized(ln_2_), pass));
  }

 private:
  // [B, T, C] to the same.
  [[nodiscard]] Variable attention(const Variable& x, const Pass& pass, const Memory& memory) const {
    const Variable qkv = by_samples(attn_c_attn_(x), pass.positions());  // [B, T, 3C]
    const Variable heads = memory.kept != nullptr
                               ? cached_attention(qkv, heads_.count(), memory)
                               : autograd::attention(qkv, heads_.count(), attention_mask(pass));  // [B, T, C]
    return autograd::dropout(attn_c_proj_(heads), pass.stream_mask(3 * layer_ + 2));
  }

  [[nodiscard]] Variable mlp(const Variable& x, const Pass& pass) const {
    const Variable wide = mlp_c_fc_(x);  // [B, T, 4C]
    return autograd::dropout(mlp_c_proj_.forward_of_gelu(wide), pass.stream_mask(3 * layer_ + 3));
  }

  // Of this rank's heads, the same as in a model that has all of them.
  [[nodiscard]] kernels::DropoutMask attention_mask(const Pass& pass) const {
    kernels::DropoutMask mask = pass.mask(3 * layer_ + 1);
    mask.first_element = heads_.begin * pass.positions() * pass.positions();
    return mask;
  }

  // 2 * layers branches add to the residual stream; this keeps the variance of their sum independent of the depth.
  static double small_deviation(const GptConfig& config) {
    return 0.02 / std::sqrt(2.0 * static_cast<double>(config.layer_count));
  }

  std::uint64_t layer_;
  Range heads_;
  LayerNorm& ln_1_;
  Projection &attn_c_attn_, &attn_c_proj_;
  LayerNorm& ln_2_;
  Projection &mlp_c_fc_, &mlp_c_proj_;
};

namespace {

GptConfig checked(GptConfig config, Range blocks) {
  require_valid(config);
  require(blocks.begin >= 0 && blocks.begin < blocks.end && blocks.end <= config.layer_count, "nn: a GPT of ",
          config.layer_count, " blocks has no part with blocks ", blocks.begin, " to ", blocks.end);
  return config;
}

}  // namespace

GptPart::GptPart(GptConfig config, const InitScope& scope, Range blocks, const GptLayers& layers)
    : config_(checked(std::move(config), blocks)), range_(blocks), share_(layers.stream_share()) {
  const Owner owner = is_first() ? Owner::kThisRank : Owner::kAnotherRank;
  if (is_first() || is_last()) table_ = &own("wte", layers.table(config_, owner, scope.child("wte")));
  if (auto positions = is_first() ? layers.positions(config_, scope.child("wpe")) : nullptr)
    positions_ = &own("wpe", std::move(positions));
  for (std::int64_t layer = blocks.begin; layer < blocks.end; ++layer)
    blocks_.push_back(&child<GptBlock>(concat("h.", layer), config_, layer, scope, layers));
  if (is_last()) final_norm_ = &own("ln_f", layers.norm(config_.channels, scope.child("ln_f")));
}

const TokenTable& GptPart::table() const {
  require(table_ != nullptr, "nn: only the first and the last part of a GPT have its table");
  return *table_;
}

Shape GptPart::stream_shape(const Shape& tokens) const {
  if (share_.ranks == 1) return {tokens[0], tokens[1], config_.channels};
  return {tokens[0] * tokens[1] / share_.ranks, config_.channels};
}

Variable GptPart::forward(const Tensor& tokens, const Variable& stream, const ForwardContext& context) const {
  return run(tokens, stream, context, nullptr);
}

Variable GptPart::loss(const Variable& hidden, const Tensor& targets) const {
  require(is_last(), "nn: the loss is computed by the part of a GPT with its last block");
  return table().loss(hidden, targets);
}

void GptPart::require_tokens(const Tensor& tokens, std::int64_t past) const {
  const std::int64_t room = config_.context_length - past;
  require(tokens.shape().rank() == 2 && tokens.shape()[1] <= room, "nn: Gpt needs tokens [B, T] with T <= ", room,
          ", not ", tokens.shape());
}

// The sum of the tokens' and the positions' rows.
Variable GptPart::embed(const Tensor& tokens, std::int64_t past) const {
  if (positions_ == nullptr) return table_->embed(tokens, {});
  const Variable& all = positions_->weight();
  return table_->embed(tokens, past == 0 ? all : Variable(all.value().rows(past, config_.context_length)));
}

Variable GptPart::run(const Tensor& tokens, const Variable& stream, const ForwardContext& context,
                      KeyValueCache* cache) const {
  const std::int64_t past = cache != nullptr ? cache->length() : 0;
  if (is_first()) require_tokens(tokens, past);
  const auto pass = std::make_shared<const Pass>(config_.dropout, context,
                                                 tokens.is_defined() ? tokens.shape() : stream.shape(), share_);
  ResidualStream x(is_first() ? autograd::dropout(embed(tokens, past), pass->stream_mask(0)) : stream);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Memory memory{cache != nullptr ? &cache->layers_[i] : nullptr, past};
    if (!config_.activation_checkpointing) {
      blocks_[i]->forward(x, *pass, memory);
      continue;
    }
    const auto run = [block = blocks_[i], pass, memory](std::span<const Variable> given) {
      ResidualStream own(given);
      block->forward(own, *pass, memory);
      return own.take();
    };
    x = ResidualStream(autograd::checkpoint(run, x.take()));
  }
  return is_last() ? x.normalized(*final_norm_) : x.sum();
}

}  // namespace lockstep::nn
