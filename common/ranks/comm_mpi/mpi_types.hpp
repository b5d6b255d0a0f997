#pragma once
// Our dtypes and operations as MPI's; not for others.
#include <mpi.h>

#include "base/dtype.hpp"
#include "comm/fingerprint.hpp"

namespace lockstep::mpi_backend {

// A type of the same width: MPI does no arithmetic with it.
[[nodiscard]] MPI_Datatype mpi_type(DType dtype);

// Reduces with comm::reduce_into: MPI has no bfloat16, and leaves open what becomes of NaN in a minimum. kMean adds.
// Calls MPI the first time: only from what MpiLibrary::run() starts. Throws ContractError for uint8 and float16.
[[nodiscard]] MPI_Op mpi_operation(DType dtype, comm::ReduceOp op);

}  // namespace lockstep::mpi_backend
