#pragma once
/// @file
/// The kernels of one kind of device, as a table. The public functions (kernels/ops.hpp) check shapes, types and
/// devices, then call a kernel of their tensors' device: kernels::layer_norm_forward() of kernels/layer_norm.cpp calls
/// cpu::layer_norm_forward() of kernels/cpu/layer_norm.cpp, or cuda:: of kernels/cuda/layer_norm.cu.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/optimizer_types.hpp"
#include "kernels/types.hpp"
#include "kernels/vocabulary_part.hpp"

namespace lockstep::kernels {

/// One function pointer for each line of kernels/operations.inc, which describes them.
struct Operations {
/// @cond
#define OPERATION(name, ...) void (*name)(__VA_ARGS__, Context context);
#include "kernels/operations.inc"
#undef OPERATION
  /// @endcond
};

}  // namespace lockstep::kernels
