#pragma once
/// @file
/// Initial values of parameters: a pure function of (seed, full parameter name, element index), so that a layer's
/// values depend neither on which layers were made before it nor on the rank that makes them.
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace lockstep::nn {

/// Where this thread makes parameters: the CPU until set_default_device().
[[nodiscard]] Device default_device() noexcept;
/// As torch.set_default_device, for parameters: models made after it live there. Values are made on the host and
/// copied, so they do not depend on the device.
/// @param device  Of models to come. @throws UnavailableError  There is none such.
void set_default_device(Device device);

/// Where in a model a layer stands while it is constructed: the seed, and the prefix of its parameters' names.
/// A plain seed is the scope of a whole model: `nn::Linear layer(10, 2, /*seed=*/1)`.
class InitScope {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a seed is a scope
  /// @param seed  Of the job. @param dtype  Of all parameters.
  InitScope(std::uint64_t seed, DType dtype = DType::kFloat32) : seed_(seed), dtype_(dtype) {}

  /// The scope of the child called `name`.
  [[nodiscard]] InitScope child(std::string_view name) const;

  /// Of all parameters.
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  /// Of the job.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Normal with mean 0 and standard deviation `deviation`; float64 parameters get the float32 values.
  [[nodiscard]] Tensor normal(std::string_view name, const Shape& shape, double deviation) const;
  /// Uniform in [-bound, bound).
  [[nodiscard]] Tensor uniform(std::string_view name, const Shape& shape, double bound) const;
  /// Every element `value`.
  [[nodiscard]] Tensor constant(const Shape& shape, double value) const;

 private:
  [[nodiscard]] std::uint64_t key(std::string_view name) const;

  std::uint64_t seed_;
  DType dtype_;
  std::string prefix_;  // empty, or ends in '.'
};

}  // namespace lockstep::nn
