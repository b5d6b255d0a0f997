#pragma once
/// @file
/// What a GPT remembers of a text while it writes on, so that each further token costs one position and not all.
#include <cstdint>
#include <vector>

#include "nn/gpt.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::nn {

/// What one block keeps.
struct KeptPositions {
  Tensor keys;    ///< [B, H, T, C/H]
  Tensor values;  ///< [B, H, T, C/H]
};

/// The keys and values of every block for the positions seen so far. A position's keys and values depend only on what
/// stands before it, so they stay right while the text grows; when it changes, or its beginning falls away (positions
/// are learned, so all others then move), clear() and begin anew.
/// ```cpp
/// nn::KeyValueCache cache(model.config());
/// auto scores = model.logits(prompt, cache);   // [1, V]
/// scores = model.logits(next_token, cache);    // [1, V], after one more position
/// ```
/// Thread safety: none.
class KeyValueCache {
 public:
  /// @param config   Of the model. @param samples  B, texts that are continued side by side.
  /// @param dtype    float32, or float64 for a model of that type.
  /// @cost  2 layers B T C elements of host memory, touched as the text grows.
  explicit KeyValueCache(const GptConfig& config, std::int64_t samples = 1, DType dtype = DType::kFloat32);

  /// Positions that are kept.
  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  /// T: positions that there is room for.
  [[nodiscard]] std::int64_t capacity() const noexcept { return capacity_; }
  /// Forgets all positions; memory is kept.
  void clear() noexcept { length_ = 0; }

 private:
  friend class Gpt;

  std::int64_t length_ = 0;
  std::int64_t capacity_;
  std::vector<KeptPositions> layers_;
};

}  // namespace lockstep::nn
