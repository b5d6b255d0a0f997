#pragma once
/// @file
/// Names of the places where memory lives and work runs.
#include <string>
#include <string_view>

namespace lockstep {

/// `kCpu` in every build; `kEmulated` and `kCuda` where the build has that backend.
enum class DeviceType { kCpu, kEmulated, kCuda };

/// Which rank of its host asks for a device.
struct RankPlace {
  int local_rank = 0;      ///< Among the ranks of this host.
  bool share_gpu = false;  ///< Where there are fewer GPUs than ranks they are given out in turn; else an error.
};

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

  /// The device that `text` names for one rank of several: of a kind without an index the one of the rank's own number.
  /// Emulated devices belong to their process, so ranks take them in turn without being asked.
  /// @throws FormatError       As parse().
  /// @throws UnavailableError  There are fewer GPUs than ranks, and not `share_gpu`.
  [[nodiscard]] static Device for_rank(std::string_view text, const RankPlace& place);

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
