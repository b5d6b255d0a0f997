#pragma once
/// @file
/// Mixed precision: parameters, their gradients and losses in float32, activations and matrix products in bfloat16 or
/// float16.
/// @source Micikevicius et al., "Mixed Precision Training", ICLR 2018; the name is PyTorch's torch.autocast.
#include <memory>

#include "autograd/variable.hpp"
#include "base/mixed_precision.hpp"

namespace lockstep::autograd {

struct RoundedWeight;

/// While it lives, operations on this thread compute in bfloat16 or float16 what may be computed so: embeddings and
/// fully connected layers give activations of that type, what follows keeps their type, and matrix products add in
/// float32. Norms, softmax and losses are computed in float32. Each weight matrix is rounded to the type when it is
/// first used after it has changed, so once per optimizer step. float64 is left as it is.
///
/// float16 is for devices (cuda, emulated): on the CPU the first operation is a ContractError. Its gradients need
/// optim::GradScaler. A number beyond 65504 becomes infinite.
///
/// Backward computes in the types of forward, wherever it is called.
class Autocast {
 public:
  /// @param precision  kNo: changes nothing, or ends an outer one while it lives.
  explicit Autocast(MixedPrecision precision) noexcept;
  /// bfloat16, or no mixed precision. @param is_enabled  False: as MixedPrecision::kNo.
  explicit Autocast(bool is_enabled) noexcept : Autocast(is_enabled ? MixedPrecision::kBf16 : MixedPrecision::kNo) {}
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  MixedPrecision outer_;
};

/// In what operations on this thread compute what they may.
[[nodiscard]] MixedPrecision autocast_precision() noexcept;
/// Whether that is bfloat16 or float16.
[[nodiscard]] bool is_autocast_enabled() noexcept;

/// For writers of operations: the type of an activation made from float32 or float64 parameters.
[[nodiscard]] DType activation_dtype(DType parameter_dtype) noexcept;

/// For writers of operations: the elements of a weight matrix for a product with an operand of `dtype`; where that is
/// bfloat16 or float16, rounded to it, and kept until the parameter changes or is asked for in the other type.
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

/// `input` in another type: float32 to bfloat16 or float16, or back. Its gradient is converted back.
[[nodiscard]] Variable cast(const Variable& input, DType dtype);

/// `input` as an operand of a product: in autocast's type if that is on and it is float32.
[[nodiscard]] Variable product_operand(const Variable& input);

}  // namespace lockstep::autograd
