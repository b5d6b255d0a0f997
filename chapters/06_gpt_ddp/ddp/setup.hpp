#pragma once
/// @file
/// What the options of a training run mean for its ranks: their devices, their group, their samples, their gradients.
#include <memory>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "comm/process_group.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"

namespace lockstep::ddp {

/// The group of all ranks of `job`: of the backend that --backend names, for the device of use_device().
/// @pre  use_device() has been called.
/// @throws  As backend::make_process_group().
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_group(const run::TrainOptions& options, comm::JobContext job);

/// How --seed and --uneven deal the samples.
[[nodiscard]] DistributedSamplerOptions sampler_options(const run::TrainOptions& options);

/// What --no-sync and --compress-gradients ask of the wrapper.
[[nodiscard]] DdpOptions ddp_options(const run::TrainOptions& options);

/// Has the order of `ddp`'s buckets saved with the run's checkpoints and taken over when it is resumed, so that
/// gradients are added up as they would have been. @param run  Not resumed yet. @param ddp  Outlives the run.
void keep_bucket_order(run::Run& run, DistributedDataParallel& ddp);

/// Takes this rank's device, as a program for GPUs would take GPU `local_rank`: with --bind-cores, the `local_rank`-th
/// share of the host's processors. Otherwise the ranks leave it to the kernel who runs where.
/// @param local_rank, local_world_size  This rank among the ranks of its host, and their number.
void use_device(const run::TrainOptions& options, int local_rank, int local_world_size);

}  // namespace lockstep::ddp
