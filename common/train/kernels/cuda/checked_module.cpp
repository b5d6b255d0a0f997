// The entry of the shared library of checked kernels, for checked_kernels.cpp.
#include "kernels/operations.hpp"

namespace lockstep::kernels::cuda::checked {
const Operations& operations();
}

extern "C" const lockstep::kernels::Operations* lockstep_checked_operations() {
  return &lockstep::kernels::cuda::checked::operations();
}
