#include "nn/gpt.hpp"

#include <utility>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "nn/key_value_cache.hpp"

namespace lockstep::nn {

using autograd::Variable;

namespace {

// Before anything is made of the sizes.
Range all_blocks(const GptConfig& config) {
  require_valid(config);
  return {0, config.layer_count};
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

}  // namespace

Gpt::Gpt(const GptConfig& config, const InitScope& scope, const GptLayers& layers)
    : GptPart(config, scope, all_blocks(config), layers) {}

Variable Gpt::loss(const Tensor& inputs, const Tensor& targets, const ForwardContext& context) const {
  require(targets.shape() == inputs.shape(), "nn: Gpt::loss() needs as many targets as inputs, not ", targets.shape(),
          " for ", inputs.shape());
  return GptPart::loss(forward(inputs, {}, context), targets);
}

Variable Gpt::logits(const Tensor& inputs, Positions positions) const {
  const autograd::NoGradGuard no_grad;
  require_whole();
  return scores(forward(inputs, {}), positions);
}

Variable Gpt::logits(const Tensor& inputs, KeyValueCache& cache, Positions positions) const {
  const autograd::NoGradGuard no_grad;
  require_whole();
  const auto layers = static_cast<std::int64_t>(cache.layers_.size());
  require(layers == config().layer_count && cache.capacity() == config().context_length,
          "nn: the KeyValueCache was made for another model: ", layers, " blocks and ", cache.capacity(),
          " positions, not ", config().layer_count, " and ", config().context_length);
  Variable x = run(inputs, {}, {}, &cache);  // [B, N, C]
  cache.length_ += inputs.shape()[1];        // last: an error above leaves the cache unchanged
  return scores(std::move(x), positions);
}

void Gpt::require_whole() const {
  const std::int64_t rows = table().weight().shape()[0];
  require(rows == config().vocabulary_size, "nn: logits() of a model that ranks divide among themselves: this one has ",
          rows, " of ", config().vocabulary_size, " tokens; load its checkpoint into a whole model");
}

Variable Gpt::scores(Variable x, Positions positions) const {
  if (positions == Positions::kLast) x = Variable(last_position(x.value()));  // [B, C]
  const Variable scores = autograd::linear(x, table().weight(), {});
  return autograd::cast(scores, kernels::accumulation_dtype(scores.value().dtype()));
}

}  // namespace lockstep::nn
