#pragma once
// A model and data that Lockstep does not know: learns how high a damped spring stands at a given time.
#include <cmath>
#include <cstdint>

#include "autograd/functions.hpp"
#include "autograd/primitives.hpp"
#include "data/tensor_dataset.hpp"
#include "nn/layers.hpp"

// Computes x + f(x), where f is two layers with a gate between them.
class GatedBlock : public lockstep::nn::Layer {
 public:
  GatedBlock(std::int64_t channels, const lockstep::nn::InitScope& scope)
      : norm_(child<lockstep::nn::LayerNorm>("norm", channels, scope)),
        gate_(child<lockstep::nn::Linear>("gate", channels, 2 * channels, scope)),
        up_(child<lockstep::nn::Linear>("up", channels, 2 * channels, scope)),
        down_(child<lockstep::nn::Linear>("down", 2 * channels, channels, scope)) {}

  // [B, channels] -> [B, channels]
  lockstep::autograd::Variable forward(const lockstep::autograd::Variable& x) const override {
    using namespace lockstep::autograd;
    const Variable normed = norm_(x);
    return add(x, down_(mul(silu(gate_(normed)), up_(normed))));
  }

 private:
  lockstep::nn::LayerNorm& norm_;
  lockstep::nn::Linear &gate_, &up_, &down_;
};

class SpringModel : public lockstep::nn::Layer {
 public:
  explicit SpringModel(const lockstep::nn::InitScope& scope)
      : in_(child<lockstep::nn::Linear>("in", 3, kChannels, scope)),
        block_(child<GatedBlock>("block", kChannels, scope)),
        out_(child<lockstep::nn::Linear>("out", kChannels, 1, scope)) {}

  // [B, 3]: time, stiffness, damping -> [B, 1]: height
  lockstep::autograd::Variable forward(const lockstep::autograd::Variable& x) const override {
    return out_(block_(in_(x)));
  }

 private:
  static constexpr std::int64_t kChannels = 32;
  lockstep::nn::Linear& in_;
  GatedBlock& block_;
  lockstep::nn::Linear& out_;
};

// 1024 springs: features [1024, 3] and heights [1024, 1].
inline lockstep::data::TensorDataset make_springs() {
  using lockstep::Tensor;
  constexpr std::int64_t kCount = 1024;
  const Tensor features = Tensor::zeros({kCount, 3}), heights = Tensor::zeros({kCount, 1});
  for (std::int64_t i = 0; i < kCount; ++i) {
    const float time = static_cast<float>(i % 32) / 8, stiffness = 1 + static_cast<float>(i / 32 % 8) / 4,
                damping = static_cast<float>(i / 256) / 4;
    const auto row = features.span<float>().subspan(3 * i, 3);
    row[0] = time, row[1] = stiffness, row[2] = damping;
    heights.span<float>()[i] = std::exp(-damping * time) * std::cos(stiffness * time);
  }
  return {features, heights};
}
