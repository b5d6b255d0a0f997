#pragma once
/// @file
/// Which rank has which GPU: checked before NCCL starts, so that an error can name the ranks.
#include <string>

#include "base/deadline.hpp"
#include "comm/job_context.hpp"
#include "device/device.hpp"

namespace lockstep::nccl {

/// Exchanges the ranks' devices. Rank 0 warns if drivers, CUDA or NCCL differ. If ranks share a GPU and may do so, sets
/// the environment variables that NCCL needs for it in this process (unless they are already set), and rank 0 warns
/// that times mean nothing.
/// @param context    The group's.
/// @param prefix     Prefix of the keys in the store; unique in the job.
/// @param device     This rank's; must be available.
/// @param may_share  Whether several ranks may have the same GPU.
/// @param deadline   For all ranks to join.
/// @return  Whether another rank has the same GPU.
/// @throws UsageError  Ranks have the same GPU and may not; the same message, naming them, on all ranks.
/// @throws TimeoutError, PeerFailedError  A rank does not join, or the job fails meanwhile.
[[nodiscard]] bool exchange_device_ids(const comm::JobContext& context, const std::string& prefix, Device device,
                                       bool may_share, const Deadline& deadline);

}  // namespace lockstep::nccl
