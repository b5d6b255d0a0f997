#include "kernels/cuda/operations.hpp"
#include "kernels/device_ops.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

const DeviceOps& device_ops() {
  static constexpr DeviceOps kOps{
#define OPERATION(name, parameters) .name = name,
#include "kernels/device_operations.inc"
#undef OPERATION
  };
  return kOps;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
