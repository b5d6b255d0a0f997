#pragma once
/// @file
/// Names of the places where memory lives and work runs.
#include <string>
#include <string_view>

namespace lockstep {

/// `kCpu` in every build; `kEmulated` and `kCuda` if the build has that backend.
enum class DeviceType { kCpu, kEmulated, kCuda };

/// The rank for which a device is chosen.
struct RankPlace {
  int local_rank = 0;      ///< Among the ranks of this host.
  bool share_gpu = false;  ///< If there are fewer GPUs than ranks: share them in turn (true), or fail.
};

/// One device. A value type.
struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;  ///< Among the devices of that type; 0 for the CPU.

  bool operator==(const Device&) const = default;

  /// True if host code may read its memory.
  [[nodiscard]] bool is_cpu() const noexcept { return type == DeviceType::kCpu; }

  /// "cpu", "cuda:1", "emulated:0".
  [[nodiscard]] std::string name() const;

  /// The device that `text` names: "cpu", "cuda", "cuda:1", "emulated:0".
  /// @throws FormatError  `text` names none; lists what is accepted.
  [[nodiscard]] static Device parse(std::string_view text);

  /// The device that `text` names for one of several ranks: if `text` has no index, the device with the rank's number.
  /// Emulated devices belong to their process, so ranks always share them in turn.
  /// @throws FormatError       As parse().
  /// @throws UnavailableError  There are fewer GPUs than ranks, and `share_gpu` is false.
  [[nodiscard]] static Device for_rank(std::string_view text, const RankPlace& place);

  /// How many devices of a type this build and machine can run; 1 for the CPU.
  [[nodiscard]] static int count(DeviceType type) noexcept;

  /// True if this build and machine can run it.
  [[nodiscard]] bool is_available() const noexcept;

  /// @throws UnavailableError  Not available: says if the build or the machine lacks it, and suggests an alternative.
  void require_available() const;
};

/// The accelerator that this build computes on: kCuda with the preset cuda, else kEmulated.
[[nodiscard]] DeviceType accelerator_type() noexcept;

/// Makes `device` the current CUDA device of the calling thread. Does nothing for the CPU.
/// @throws CudaError  The device cannot be used.
void make_current(Device device);

/// Blocks the host until the device has finished all issued work. Does nothing for the CPU.
/// @throws CudaError  A kernel failed.
void synchronize(Device device);

}  // namespace lockstep
