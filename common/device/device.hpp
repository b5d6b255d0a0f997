#pragma once
/// @file
/// Names of the places where memory lives and work runs.
#include <string>
#include <string_view>

namespace lockstep {

/// `kCpu` in every build; `kEmulated` and `kCuda` where the build has that backend.
enum class DeviceType { kCpu, kEmulated, kCuda };

/// One device. A value type.
struct Device {
  DeviceType type = DeviceType::kCpu;  ///< Kind of device.
  int index = 0;                       ///< Which of several devices of that type; 0 for the CPU.

  bool operator==(const Device&) const = default;

  /// Whether host code may read its memory.
  [[nodiscard]] bool is_cpu() const noexcept { return type == DeviceType::kCpu; }

  /// "cpu", "cuda:1", "emulated:0".
  [[nodiscard]] std::string name() const;

  /// The device that `text` names: "cpu", "cuda", "cuda:1", "emulated:0".
  /// @throws FormatError  `text` names none; lists what is accepted.
  [[nodiscard]] static Device parse(std::string_view text);

  /// How many devices of a type this build and machine can run; 1 for the CPU.
  [[nodiscard]] static int count(DeviceType type) noexcept;

  /// Whether this build and machine can run it.
  [[nodiscard]] bool is_available() const noexcept;

  /// @throws UnavailableError  Not available: says whether the build or the machine lacks it, and what would work.
  void require_available() const;
};

/// The kind of device beside the CPU that this build computes on: kCuda with the preset cuda, else kEmulated.
[[nodiscard]] DeviceType accelerator_type() noexcept;

/// Makes a device the one that the calling thread's CUDA calls mean. Nothing for the CPU.
/// @throws CudaError  It cannot be used.
void make_current(Device device);

/// Blocks the host until everything that was issued to the device is done. Nothing for the CPU.
/// @throws CudaError  A kernel failed.
void synchronize(Device device);

}  // namespace lockstep
