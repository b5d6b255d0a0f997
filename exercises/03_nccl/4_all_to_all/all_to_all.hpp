#pragma once
/// @file
/// Given: the collective of exercise 03.4 as its callers see it.
#include <nccl.h>

#include <cstddef>
#include <span>

#include "03_nccl/nccl_check.hpp"
#include "device/cuda_check.hpp"
#include "exercise/todo.hpp"

namespace lockstep::nccl {

/// One array in device memory, cut into a part for each rank. The parts lie one after the other, in the order of ranks.
template <typename Number>
struct Parts {
  Number* first;                        ///< Of rank 0's part. Number is float or const float.
  std::span<const std::size_t> counts;  ///< Elements of each part, [world_size]; some may be 0.
};

/// Sends part p of `in` to rank p, and writes what comes from rank p to part p of `out`, for all ranks p. PyTorch calls
/// this all_to_all_single, MPI calls it MPI_Alltoallv.
///
/// The host waits for nothing: when this returns, all of it has only been put into the stream.
///
/// @param out           Does not overlap `in`. The part for p is as long as the part that p has for this rank.
/// @param in            What this rank sends.
/// @param rank          This rank. Its own part is copied from `in` to `out`.
/// @param communicator  Of all ranks; a blocking one.
/// @param stream        Of the communicator's device; `in` may still be being written in it.
/// @throws ContractError, CudaError  A call of NCCL or CUDA has failed.
/// @cost  One group of sends and receives, which all move at the same time.
void all_to_all(const Parts<float>& out, const Parts<const float>& in, int rank, ncclComm_t communicator,
                cudaStream_t stream);

}  // namespace lockstep::nccl
