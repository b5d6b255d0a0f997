// What checked_kernels.cpp looks up in the shared library of checked kernels.
#include "kernels/operations.hpp"

namespace lockstep::kernels::cuda::checked {
const Operations& operations();
}

extern "C" const lockstep::kernels::Operations* lockstep_checked_operations() {
  return &lockstep::kernels::cuda::checked::operations();
}
