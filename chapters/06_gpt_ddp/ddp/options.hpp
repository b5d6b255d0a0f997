#pragma once
/// @file
/// How a DistributedDataParallel averages.
#include "06_gpt_ddp/ddp/bucket_layout.hpp"
#include "06_gpt_ddp/ddp/comm_hook.hpp"

namespace lockstep::ddp {

/// PyTorch's names and defaults.
struct DdpOptions {
  BucketLimits bucket_limits{};
  bool broadcast_buffers = true;        ///< Copy rank 0's buffers to all ranks: at the start, when accumulate() begins,
                                        ///< and with each step's gradients.
  bool find_unused_parameters = false;  ///< A parameter without a gradient contributes zeros instead of being an error.
                                        ///< If unused on all ranks, it stays without one.
  bool static_graph = false;            ///< As find_unused_parameters, but determined in the first step only: every
                                        ///< later step must use the same ones, and no bucket waits for the others.
  bool average_gradients = true;        ///< False, for demonstration: every rank trains on its own.
  bool refuse_non_finite = true;        ///< Whether a NaN or infinite gradient is an error. False: it reaches all
                                        ///< ranks' averages, for a gradient scaler that skips such steps.
  CommHook comm_hook = all_reduce_hook;  ///< See register_comm_hook().
};

}  // namespace lockstep::ddp
