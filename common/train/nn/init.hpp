#pragma once
/// @file
/// Initial values of parameters: a pure function of (seed, full parameter name, element index), so that a layer's
/// values depend neither on which layers were made before it nor on the rank that makes them.
#include <cstdint>
#include <string>
#include <string_view>

#include "nn/initial_values.hpp"
#include "tensor/slice.hpp"

namespace lockstep::nn {

/// How and where the parameters of a model are made: seed, dtype, device, and the prefix of parameter names while a
/// layer is constructed. A plain seed is the scope of a whole model: `nn::Linear layer(10, 2, /*seed=*/1)`; on a
/// device, `nn::Linear layer(10, 2, {/*seed=*/1, device})`. Values are made on the host and copied, so they do not
/// depend on the device.
class InitScope {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a seed is a scope
  /// @param seed  Of the job. @param dtype, device  Of all parameters.
  InitScope(std::uint64_t seed, DType dtype = DType::kFloat32, Device device = {})
      : seed_(seed), dtype_(dtype), device_(device) {}
  /// float32 parameters. @param seed  Of the job. @param device  Of all parameters.
  InitScope(std::uint64_t seed, Device device) : InitScope(seed, DType::kFloat32, device) {}

  /// A scope that leaves values unset, for a model that is loaded next: nothing is computed, and loading is the first
  /// to touch the memory. (PyTorch: torch.nn.utils.skip_init.) @param device, dtype  Of all parameters.
  [[nodiscard]] static InitScope skip_init(Device device = {}, DType dtype = DType::kFloat32);

  /// This scope, but parameters are born without elements: each draws its values, the same ones, when its value() is
  /// first asked for. A model of which a rank keeps a part is so never whole. (PyTorch: the meta device.)
  [[nodiscard]] InitScope deferred() const;

  /// The scope of the child called `name`.
  [[nodiscard]] InitScope child(std::string_view name) const;

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  [[nodiscard]] Device device() const noexcept { return device_; }

  /// Normal with mean 0 and standard deviation `deviation`; float64 parameters get the float32 values.
  /// @throws UnavailableError, OutOfMemoryError  The device is not there, or full. So do the next three functions, and
  ///                                             value() of a parameter in a deferred scope.
  [[nodiscard]] InitialValues normal(std::string_view name, const Shape& shape, double deviation) const;
  /// The elements of `slice` of normal(name, slice.whole, deviation), bit for bit, without making the whole tensor.
  /// @return  Of shape slice.shape(). @throws ContractError  As require_valid().
  [[nodiscard]] InitialValues normal(std::string_view name, const Slice& slice, double deviation) const;
  /// Uniform in [-bound, bound).
  [[nodiscard]] InitialValues uniform(std::string_view name, const Shape& shape, double bound) const;
  /// Like normal() of a slice.
  [[nodiscard]] InitialValues uniform(std::string_view name, const Slice& slice, double bound) const;
  [[nodiscard]] InitialValues constant(const Shape& shape, double value) const;

 private:
  [[nodiscard]] std::uint64_t key(std::string_view name) const;
  // Follows the recipe now, or leaves it for later.
  [[nodiscard]] InitialValues give(const Shape& shape, InitialValues::Recipe recipe) const;

  std::uint64_t seed_;
  DType dtype_;
  Device device_;
  std::string prefix_;  // empty, or ends in '.'
  bool is_skipped_ = false;
  bool is_deferred_ = false;
};

}  // namespace lockstep::nn
