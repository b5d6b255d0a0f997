#pragma once
/// @file
/// Given: the two functions of exercise 03.1 as their callers see them, and what they may use: NCCL, CUDA's streams,
/// and connections between the ranks.
#include <nccl.h>

#include <cstddef>
#include <functional>

#include "03_nccl/nccl_check.hpp"
#include "device/cuda_check.hpp"
#include "exercise/link.hpp"
#include "exercise/todo.hpp"

namespace lockstep::nccl {

using exercise::Link;

/// One rank among the others.
struct Place {
  int rank;        ///< This rank, in [0, world_size).
  int world_size;  ///< How many there are.
  /// The connection to another rank, for what must be told before NCCL can: place.link(3).send(bytes) sends to rank 3,
  /// place.link(3).receive(bytes) waits for as many bytes from it. The job's store has this role in the chapter.
  std::function<Link&(int peer)> link;
};

/// Rank 0 makes an id, and all ranks return that one.
/// @param place  With one rank there is nobody to tell.
/// @cost  One call of ncclGetUniqueId() in the whole job; 128 bytes to each of the other ranks.
[[nodiscard]] ncclUniqueId exchange_unique_id(const Place& place);

/// Joins a communicator of all ranks, replaces `values` by the sum over all ranks, and leaves the communicator. The sum
/// is there when this returns.
///
/// @param values  In the memory of the current device, [count], float32; the same count on all ranks.
/// @param count   Of elements, not of bytes.
/// @param stream  Of the current device, in which `values` may still be being written: the all-reduce goes into it.
/// @throws ContractError  A call of NCCL has failed (nccl_check()).
/// @throws CudaError      A call of CUDA has failed (cuda_check()).
void all_reduce_once(float* values, std::size_t count, const Place& place, cudaStream_t stream);

}  // namespace lockstep::nccl
