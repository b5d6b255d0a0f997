#pragma once
/// @file
/// The first rung of data parallelism: replicas start equal, and after backward each gradient is averaged.
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// Copies rank 0's parameters, including frozen ones, to all ranks: the replicas start equal, however they were
/// initialized.
/// @pre  Parameters of the same names, shapes and dtypes on all ranks. @cost  One broadcast for each.
void broadcast_parameters(const nn::Module& module, comm::ProcessGroup& group);

/// Call after backward: replaces the gradient of each trained parameter by its mean over all ranks. A parameter without
/// a gradient counts as zeros.
/// @post  The same bits on all ranks.
/// @cost  One all-reduce for each parameter, without overlapping computation.
void average_gradients(const nn::Module& module, comm::ProcessGroup& group);

}  // namespace lockstep::ddp
