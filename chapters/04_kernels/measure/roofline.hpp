#pragma once
/// @file
/// The limits of known devices, and the lower bound on a call's time.
#include <algorithm>
#include <optional>
#include <string_view>

#include "04_kernels/measure/problem.hpp"

namespace lockstep::ladders {

/// A device's limits as its maker states them.
struct Roofline {
  std::string_view device;      ///< Part of CUDA's name for the device.
  double gb_s = 0;              ///< Of memory.
  double float32_tflop_s = 0;   ///< Without tensor cores.
  double bfloat16_tflop_s = 0;  ///< Tensor cores, float32 sums, without sparsity.

  /// Multiplications and additions that the device can do in the time to move one byte.
  [[nodiscard]] constexpr double ridge() const { return float32_tflop_s * 1e3 / gb_s; }

  /// The larger of the times for the bytes and for the operations: both are needed, and can overlap.
  [[nodiscard]] constexpr double seconds(const Cost& cost) const {
    const double peak = cost.uses_tensor_cores ? bfloat16_tflop_s : float32_tflop_s;
    return std::max(cost.bytes / (gb_s * 1e9), cost.operations / (peak * 1e12));
  }
};

/// NVIDIA's data sheets: H200 (2024), H100 (2023; SXM first, PCIe's name is its own), A100 80 GB (2021), GeForce RTX
/// 4090 (Ada architecture whitepaper, 2022). More specific names first.
inline constexpr Roofline kRooflines[] = {
    {"H200", 4800, 67, 989},         {"H100 PCIe", 2000, 51, 756},
    {"H100", 3350, 67, 989},         {"A100-SXM4-80GB", 2039, 19.5, 312},
    {"RTX 4090", 1008, 82.6, 165.2},
};

/// The limits of a device, or nothing if it is not listed.
[[nodiscard]] inline std::optional<Roofline> roofline_of(std::string_view device_name) {
  for (const Roofline& known : kRooflines) {
    if (device_name.find(known.device) != std::string_view::npos) return known;
  }
  return std::nullopt;
}

}  // namespace lockstep::ladders
