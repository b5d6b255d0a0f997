#include "nn/key_value_cache.hpp"

#include "base/error.hpp"

namespace lockstep::nn {

KeyValueCache::KeyValueCache(const GptConfig& config, std::int64_t samples, DType dtype)
    : capacity_(config.context_length) {
  require(samples >= 1, "nn: a KeyValueCache for ", samples, " texts");
  const Shape shape{samples, config.head_count, capacity_, config.channels / config.head_count};  // [B, H, T, D]
  for (std::int64_t layer = 0; layer < config.layer_count; ++layer) {
    layers_.push_back({Tensor::empty(shape, dtype), Tensor::empty(shape, dtype)});
  }
}

}  // namespace lockstep::nn
