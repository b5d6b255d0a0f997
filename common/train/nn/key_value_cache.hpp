#pragma once
/// @file
/// A GPT's cache for incremental decoding: each further token costs one position instead of all.
#include <cstdint>
#include <vector>

#include "nn/gpt_config.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::nn {

/// One block's cache.
struct KeptPositions {
  Tensor keys;    ///< [B, H, T, C/H]
  Tensor values;  ///< [B, H, T, C/H]
};

/// The keys and values of every block for the positions seen so far. They depend only on earlier positions, so they
/// stay valid while the text grows. If the text changes or its beginning is cut off (positions are learned, so all
/// others then shift), call clear() and start again.
/// ```cpp
/// nn::KeyValueCache cache(model.config());
/// auto scores = model.logits(prompt, cache);   // [1, V]
/// scores = model.logits(next_token, cache);    // [1, V], after one more position
/// ```
/// Thread safety: none.
class KeyValueCache {
 public:
  /// @param config   Of the model. @param samples  B, the number of texts continued side by side.
  /// @param dtype    float32, or float64 for a model of that type.
  /// @cost  2 layers B T C elements of host memory, touched as the text grows.
  explicit KeyValueCache(const GptConfig& config, std::int64_t samples = 1, DType dtype = DType::kFloat32);

  /// The number of cached positions.
  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  /// T, the most positions it can hold.
  [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
  /// Forgets all positions; memory is kept.
  void clear() noexcept { length_ = 0; }

 private:
  friend class Gpt;
  friend class GptPart;

  std::int64_t length_ = 0;
  std::int64_t capacity_;
  std::vector<KeptPositions> layers_;
};

}  // namespace lockstep::nn
