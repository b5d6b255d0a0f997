#pragma once
/// @file
/// What the options of a training run mean for its ranks: their devices, their group, their samples, their gradients.
#include <memory>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "comm/process_group.hpp"
#include "nn/init.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"

namespace lockstep::ddp {

/// The group of all ranks of `job`: of the backend that --backend names, for buffers on `device`.
/// @throws  As backend::make_process_group().
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_group(const run::TrainOptions& options, comm::JobContext job,
                                                             Device device);

/// How --seed and --uneven deal the samples.
[[nodiscard]] DistributedSamplerOptions sampler_options(const run::TrainOptions& options);

/// What --no-sync and --compress-gradients ask of the wrapper.
[[nodiscard]] DdpOptions ddp_options(const run::TrainOptions& options);

/// Initial values from --seed on rank 0. The other ranks get none: DistributedDataParallel gives them rank 0's.
[[nodiscard]] nn::InitScope init_scope(const run::TrainOptions& options, int rank, Device device);

/// Has the order of `ddp`'s buckets saved with the run's checkpoints and taken over when it is resumed, so that
/// gradients are added up as they would have been; and has the message of a gradient that is not finite say from which
/// checkpoint the run can go on. @param run  Not resumed yet. @param ddp  Outlives the run; takes no step after it.
void connect(run::Run& run, DistributedDataParallel& ddp);

/// This rank's device: with --device cuda, GPU `local_rank`. With --bind-cores the rank also keeps to the
/// `local_rank`-th share of the host's processors; otherwise it leaves to the kernel where it runs.
/// @param local_rank, local_world_size  This rank among the ranks of its host, and their number.
/// @throws  As run::TrainOptions::device_of().
[[nodiscard]] Device use_device(const run::TrainOptions& options, int local_rank, int local_world_size);

}  // namespace lockstep::ddp
