#pragma once
/// @file
/// Initial values of a parameter, made now or when they are needed.
#include <functional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::nn {

/// The initial values of one parameter, as an InitScope gives them: a tensor, or in a deferred scope the recipe for it.
/// Where a Tensor is expected, the recipe is followed. Holds all that it needs, so it may outlive its scope.
class InitialValues {
 public:
  /// Makes the values on the given device; called for each tensor that is wanted.
  using Recipe = std::function<Tensor(Device)>;

  /// Values that are there.
  // NOLINTNEXTLINE(google-explicit-constructor): a tensor is a tensor's initial values
  InitialValues(Tensor values)
      : shape_(values.shape()), dtype_(values.dtype()), device_(values.device()), values_(std::move(values)) {}
  /// Values that are made when they are asked for. @param recipe  Returns `shape` and `dtype`.
  InitialValues(const Shape& shape, DType dtype, Device device, Recipe recipe)
      : shape_(shape), dtype_(dtype), device_(device), recipe_(std::move(recipe)) {}

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  /// Null if the values are there.
  [[nodiscard]] const Recipe& recipe() const noexcept { return recipe_; }

  /// The values. @cost  In a deferred scope, making them: each call makes others.
  // NOLINTNEXTLINE(google-explicit-constructor): as above
  operator Tensor() const { return recipe_ ? recipe_(device_) : values_; }
  /// Tensor::to() of the values.
  [[nodiscard]] Tensor to(Device device) const { return recipe_ ? recipe_(device) : values_.to(device); }
  /// Tensor::span() of values that are there. @throws ContractError  As Tensor::span(); or there is only a recipe.
  template <typename T>
  [[nodiscard]] std::span<T> span() const {
    require(!recipe_, "nn: span() of deferred initial values; make a Tensor of them first");
    return values_.span<T>();
  }

 private:
  Shape shape_;
  DType dtype_;
  Device device_;
  Tensor values_;  // undefined if there is a recipe
  Recipe recipe_;
};

}  // namespace lockstep::nn
