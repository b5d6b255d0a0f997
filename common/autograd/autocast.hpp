#pragma once
/// @file
/// Mixed precision: parameters, their gradients and losses in float32, activations and matrix products in bfloat16.
/// @source Micikevicius et al., "Mixed Precision Training", ICLR 2018; the name is PyTorch's torch.autocast.
#include <memory>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

struct RoundedWeight;

/// While it lives, operations on this thread compute in bfloat16 what may be computed so: embeddings and fully
/// connected layers give bfloat16 activations, what follows keeps their type, and matrix products add in float32.
/// Norms, softmax and losses are computed in float32. Each weight matrix is rounded to bfloat16 when it is first used
/// after it has changed, so once per optimizer step. float64 is left as it is.
///
/// Backward computes in the types of forward, wherever it is called.
class Autocast {
 public:
  /// @param is_enabled  False: changes nothing, or ends an outer one while it lives.
  explicit Autocast(bool is_enabled) noexcept;
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool was_enabled_;
};

/// Whether operations on this thread compute in bfloat16 what they may.
[[nodiscard]] bool is_autocast_enabled() noexcept;

/// For writers of operations: the type of an activation made from float32 or float64 parameters.
[[nodiscard]] DType activation_dtype(DType parameter_dtype) noexcept;

/// For writers of operations: the elements of a weight matrix for a product with an operand of `dtype`; rounded to
/// bfloat16, and kept until the parameter changes, where that is bfloat16.
[[nodiscard]] Tensor weight_for_product(const Variable& weight, DType dtype);

/// For writers of operations: a weight that forward has multiplied with and backward needs again. Of a parameter no
/// elements are held, so that they can be released in between; autocast's copy is used again while it is there.
class SavedWeight {
 public:
  /// @param weight  As forward got it. @param used  What weight_for_product() gave for it.
  SavedWeight(const Variable& weight, const Tensor& used);

  /// What forward has multiplied with. @throws  What Variable::value() throws.
  [[nodiscard]] Tensor get() const;

 private:
  Variable weight_;
  DType dtype_;
  Tensor kept_;                             // of what is no parameter, the elements
  std::shared_ptr<RoundedWeight> rounded_;  // of a parameter, autocast's copy; null without autocast
};

/// `input` in another type: float32 to bfloat16 or back. Its gradient is converted back.
[[nodiscard]] Variable cast(const Variable& input, DType dtype);

/// `input` as an operand of a product: in bfloat16 if autocast is on and it is float32.
[[nodiscard]] Variable product_operand(const Variable& input);

}  // namespace lockstep::autograd
