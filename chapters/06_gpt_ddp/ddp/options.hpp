#pragma once
/// @file
/// How a DistributedDataParallel averages.
#include "06_gpt_ddp/ddp/bucket_layout.hpp"
#include "06_gpt_ddp/ddp/comm_hook.hpp"

namespace lockstep::ddp {

/// PyTorch's names and defaults.
struct DdpOptions {
  BucketLimits bucket_limits{};         ///< How large buckets become.
  bool broadcast_buffers = true;        ///< Copy rank 0's buffers to all ranks: at the start, whenever accumulate()
                                        ///< begins, and with the gradients of each step.
  bool find_unused_parameters = false;  ///< A parameter without a gradient contributes zeros instead of being an error.
                                        ///< Unused on all ranks, it stays without one.
  bool static_graph = false;            ///< As find_unused_parameters, looked up in the first step only: every later
                                        ///< step must use the same ones, and no bucket waits for the others.
  bool average_gradients = true;        ///< False, to see what happens: every rank trains for itself.
  bool refuse_non_finite = true;        ///< Whether a gradient that is NaN or infinite is an error. False: it reaches
                                        ///< all ranks' averages, for a gradient scaler that skips such steps.
  CommHook comm_hook = all_reduce_hook;  ///< As register_comm_hook().
};

}  // namespace lockstep::ddp
