#pragma once
/// @file
/// Which rank has which GPU: found out before NCCL is asked, so that a mistake has names.
#include <string>

#include "base/deadline.hpp"
#include "comm/job_context.hpp"
#include "device/device.hpp"

namespace lockstep::nccl {

/// Tells the other ranks which device this one has, and learns theirs. Rank 0 warns where drivers, CUDA or NCCL differ.
/// Where ranks share a GPU and may, sets what NCCL needs for that in the environment of this process (unless it is set
/// there already) and rank 0 warns that times mean nothing.
/// @param context    Of the group.
/// @param prefix     Of the keys in the store, unique in the job.
/// @param device     This rank's; must be available.
/// @param may_share  Whether several ranks may have the same GPU.
/// @param deadline   For all ranks to come.
/// @return  Whether another rank has the same GPU.
/// @throws UsageError  Ranks have the same GPU and may not; the same message on all ranks, with their names.
/// @throws TimeoutError, PeerFailedError  A rank does not come, or the job fails meanwhile.
[[nodiscard]] bool take_census(const comm::JobContext& context, const std::string& prefix, Device device,
                               bool may_share, const Deadline& deadline);

}  // namespace lockstep::nccl
