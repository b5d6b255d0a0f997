#include "kernels/cuda/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

const Operations& operations() {
  static constexpr Operations kOperations{
#define OPERATION(name, ...) .name = name,
#include "kernels/operations.inc"
#undef OPERATION
  };
  return kOperations;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
