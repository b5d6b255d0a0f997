#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels::cpu {

const Operations& operations() {
  static constexpr Operations kOperations{
#define OPERATION(name, ...) .name = name,
#include "kernels/operations.inc"
#undef OPERATION
  };
  return kOperations;
}

}  // namespace lockstep::kernels::cpu
