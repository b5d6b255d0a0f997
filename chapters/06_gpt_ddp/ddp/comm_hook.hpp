#pragma once
/// @file
/// How a leaving bucket is averaged: as it is, or in another format on the wire.
#include <functional>

#include "06_gpt_ddp/ddp/bucket_layout.hpp"
#include "comm/process_group.hpp"

namespace lockstep::ddp {

/// Issues the communication of one bucket. Once the returned Work has been synchronized, bucket.gradients hold the
/// average over all ranks, the same bits on each. Called in the same order on all ranks, from backward()'s thread; the
/// bucket outlives the Work.
using CommHook = std::function<comm::Work(comm::ProcessGroup& group, const Bucket& bucket)>;

/// The default: one all-reduce, in the gradients' own type.
[[nodiscard]] comm::Work all_reduce_hook(comm::ProcessGroup& group, const Bucket& bucket);

/// Half the bytes: float32 gradients are rounded to bfloat16, summed, and divided by world_size() in float32. The sum
/// is rounded to bfloat16 after each of its P-1 additions too, so an element may be off by P * 2^-9 of the largest
/// partial sum. Buckets of another type are sent unchanged.
/// @return  A hook with its own memory: create one per wrapped module.
/// @source  torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook (which divides first).
[[nodiscard]] CommHook bf16_compress_hook();

}  // namespace lockstep::ddp
