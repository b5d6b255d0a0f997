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

  /// Whether this build and machine can run it.
  [[nodiscard]] bool is_available() const noexcept;
};

}  // namespace lockstep
