#pragma once
/// @file
/// How an operation calls the kernels of a device. Internal to this module.
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/device_ops.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// @throws ContractError  Always: `other` is not on the device of `first`.
[[noreturn]] void throw_device_mismatch(std::string_view operation, const Tensor& first, const Tensor& other);

/// Whether an operation runs on the CPU, by its tensors' device. Undefined tensors are ignored.
/// @throws ContractError  They are on different devices.
template <typename... Tensors>
[[nodiscard]] bool is_on_cpu(std::string_view operation, const Tensor& first, const Tensors&... others) {
  [[maybe_unused]] const auto check = [&](const Tensor& other) {
    if (other.is_defined() && other.device() != first.device()) throw_device_mismatch(operation, first, other);
  };
  (check(others), ...);
  return first.device().is_cpu();
}

/// One operation on a device: its context, its scratch memory, and the numbers that it returns.
class DeviceCall final : private DeviceScratch {
 public:
  /// @param operation  Its name, for messages. @param tensor  One of its tensors.
  /// @throws ContractError     float64, which only the CPU supports.
  /// @throws UnavailableError  The build has no kernels for the device.
  DeviceCall(std::string_view operation, const Tensor& tensor);

  [[nodiscard]] const DeviceOps& ops() const noexcept { return *ops_; }
  /// For one of ops().
  [[nodiscard]] const DeviceContext& context() const noexcept { return context_; }

  /// The mask of attention, with its sample ids in device memory. @throws ContractError  It does not fit `samples`
  /// samples.
  [[nodiscard]] DeviceDropout attention_dropout(const DropoutMask& mask, std::int64_t samples);
  /// The mask of a dropout of `tensor`. @throws ContractError  It does not fit.
  [[nodiscard]] DeviceDropout dropout(const DropoutMask& mask, const Tensor& tensor);
  /// Room for `count` numbers that an operation will write.
  [[nodiscard]] double* results(std::size_t count);
  /// The numbers in results(), after the work on the stream so far: blocks the host.
  /// @throws ContractError  An operation since the last read was given a token or target out of range.
  [[nodiscard]] std::vector<double> read_results();

 private:
  void* take_bytes(std::size_t bytes) override;
  [[nodiscard]] DeviceDropout with_sample_ids(const DropoutMask& mask);

  std::string_view operation_;
  Device device_;
  const DeviceOps* ops_;
  DeviceContext context_;
  std::vector<std::shared_ptr<Storage>> scratch_;
  double* results_ = nullptr;
  std::size_t result_count_ = 0;
};

/// A tensor in the form that a device's operations take.
[[nodiscard]] DeviceArray array_of(const Tensor& tensor);
/// The same for an operation that only reads it: keeps values derived from the elements valid.
[[nodiscard]] DeviceArray array_to_read(const Tensor& tensor);

}  // namespace lockstep::kernels
