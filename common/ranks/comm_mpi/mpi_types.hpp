#pragma once
// Our dtypes and operations as MPI's. Internal to this module.
#include <mpi.h>

#include "base/dtype.hpp"
#include "comm/fingerprint.hpp"

namespace lockstep::mpi_backend {

// A type of the same width: MPI does no arithmetic on it.
[[nodiscard]] MPI_Datatype mpi_type(DType dtype);

// Reduces with comm::reduce_into: MPI has no bfloat16, and does not define NaN in a minimum. kMean adds. The first use
// calls MPI, so call this only inside MpiLibrary::run(). Throws ContractError for uint8 and float16.
[[nodiscard]] MPI_Op mpi_operation(DType dtype, comm::ReduceOp op);

}  // namespace lockstep::mpi_backend
