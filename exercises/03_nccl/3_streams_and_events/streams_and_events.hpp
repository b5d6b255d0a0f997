#pragma once
/// @file
/// Given: the function of exercise 03.3 as its callers see it.
#include <nccl.h>

#include <cstddef>
#include <functional>
#include <span>

#include "03_nccl/nccl_check.hpp"
#include "device/cuda_check.hpp"
#include "exercise/todo.hpp"

namespace lockstep::nccl {

/// A part of the gradients that is reduced at once.
struct Bucket {
  float* gradients;   ///< In device memory, [count].
  std::size_t count;  ///< Number of elements.
};

/// Two streams of the current device. Work in one of them runs in order; work in different ones runs in any order
/// and at the same time, unless one waits for an event of the other.
struct Streams {
  cudaStream_t compute;        ///< The stream in which gradients are produced and sums are used.
  cudaStream_t communication;  ///< For NCCL.
};

/// Produces the gradients of all buckets, one after the other, and replaces each bucket by its sum over all ranks. The
/// sum of one bucket is on its way while the next bucket is being produced.
///
/// The host waits for nothing: when this returns, all of it has only been put into the streams.
///
/// @param buckets       The same counts in the same order on all ranks.
/// @param produce       produce(k) puts the work that writes the gradients of bucket k into `streams.compute`, and
///                      returns at once. To be called once for each k, in order.
/// @param communicator  Of all ranks; a blocking one.
/// @param streams       Work that the caller puts into `streams.compute` afterwards sees all sums.
/// @throws ContractError, CudaError  A call of NCCL or CUDA has failed.
void reduce_while_computing(std::span<const Bucket> buckets, const std::function<void(std::size_t bucket)>& produce,
                            ncclComm_t communicator, const Streams& streams);

}  // namespace lockstep::nccl
