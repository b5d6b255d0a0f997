#pragma once
/// @file
/// The operations of a device, as a table that kernels/cuda fills in. The public functions (kernels/ops.hpp) check
/// shapes, types and devices, then call one of these.
#include <cstdint>

#include "kernels/device_types.hpp"
#include "kernels/optimizer_types.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels {

/// Mean and reciprocal deviation of each row, [R] each: LayerNormStatistics (kernels/layer_norm.hpp).
struct DeviceNormStatistics {
  DeviceArray mean;                  ///< [R]
  DeviceArray reciprocal_deviation;  ///< [R]
};

/// One function pointer for each operation of kernels/device_operations.inc, which describes them.
struct DeviceOps {
  using Array = DeviceArray;
  using Context = const DeviceContext&;

/// @cond
#define OPERATION(name, parameters) void(*name) parameters;
#include "kernels/device_operations.inc"
#undef OPERATION
  /// @endcond
};

}  // namespace lockstep::kernels
