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

/// While it lives, operations on this thread use bfloat16 or float16 if it is safe to: embeddings and fully connected
/// layers produce activations of that type, later operations keep it, and matrix products accumulate in float32. Norms,
/// softmax and losses are computed in float32. Each weight matrix is rounded on its first use after a change, so once
/// per optimizer step. float64 is left as it is.
///
/// float16 is for devices (cuda, emulated): on the CPU the first operation throws a ContractError. Its gradients need
/// optim::GradScaler. Numbers beyond 65504 become infinite.
///
/// Backward uses the types of forward, even outside this object's lifetime.
class Autocast {
 public:
  /// @param precision  kNo: no mixed precision, even inside another Autocast.
  [[nodiscard]] explicit Autocast(MixedPrecision precision) noexcept;
  /// bfloat16, or no mixed precision. @param is_enabled  False: as MixedPrecision::kNo.
  [[nodiscard]] explicit Autocast(bool is_enabled) noexcept
      : Autocast(is_enabled ? MixedPrecision::kBf16 : MixedPrecision::kNo) {}
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  MixedPrecision outer_;
};

/// The precision that operations on this thread use.
[[nodiscard]] MixedPrecision autocast_precision() noexcept;
/// True unless autocast_precision() is kNo.
[[nodiscard]] bool is_autocast_enabled() noexcept;

/// For writers of operations: the type of an activation made from float32 or float64 parameters.
[[nodiscard]] DType activation_dtype(DType parameter_dtype) noexcept;

/// For writers of operations: the elements of a weight matrix for a product with an operand of `dtype`. If that is
/// bfloat16 or float16, they are rounded to it; the copy is kept until the parameter changes or is needed in the other
/// type.
[[nodiscard]] Tensor weight_for_product(const Variable& weight, DType dtype);

/// For writers of operations: a weight that forward multiplied by and backward needs again. Holds no elements of a
/// parameter, so that they can be released in between; reuses autocast's copy while it exists.
class SavedWeight {
 public:
  /// @param weight  As passed to forward. @param used  The result of weight_for_product().
  SavedWeight(const Variable& weight, const Tensor& used);

  /// The elements that forward multiplied by. @throws  As Variable::value().
  [[nodiscard]] Tensor get() const;

 private:
  Variable weight_;
  DType dtype_;
  Tensor kept_;                             // the elements, unless `weight` is a parameter
  std::shared_ptr<RoundedWeight> rounded_;  // for a parameter, autocast's copy; null without autocast
};

/// `input` in another type: float32 to bfloat16 or float16, or back. Its gradient is converted back.
[[nodiscard]] Variable cast(const Variable& input, DType dtype);

/// `input` as an operand of a product: in autocast's type if autocast is on and `input` is float32.
[[nodiscard]] Variable product_operand(const Variable& input);

}  // namespace lockstep::autograd
