#pragma once
/// @file
/// Translates a training run's options for its ranks: devices, group, samples, gradients.
#include <cstdint>
#include <memory>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "comm/process_group.hpp"
#include "nn/init.hpp"
#include "run/run.hpp"
#include "run/run_options.hpp"
#include "run/training_state.hpp"

namespace lockstep::ddp {

/// The group of all ranks of `job`, with the backend of --backend, for buffers on `device`. With --memory-limit, an
/// allocation that is refused on one rank fails the job on all of them, with its message.
/// @throws  As backend::make_process_group().
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_group(const run::ParallelOptions& parallel,
                                                             const run::DeviceOptions& devices, comm::JobContext job,
                                                             Device device);

/// The sampler's options for --seed and --uneven.
[[nodiscard]] DistributedSamplerOptions sampler_options(const run::RunOptions& options);

/// The wrapper's options for --no-sync and --compress-gradients.
[[nodiscard]] DdpOptions ddp_options(const run::ParallelOptions& parallel);

/// Initial values from `seed` on rank 0. Other ranks draw none, because DistributedDataParallel copies rank 0's.
[[nodiscard]] nn::InitScope init_scope(std::uint64_t seed, int rank, Device device);

/// For checkpoints (run::TrainingSaver, run::load_training()): the order of `ddp`'s buckets, in which gradients are
/// added. Without it a resumed run agrees with an unbroken one up to rounding; with it, bit for bit.
/// @param ddp  Outlives the result.
[[nodiscard]] run::KeptState bucket_order_state(DistributedDataParallel& ddp);

/// Saves the order of `ddp`'s buckets with the run's checkpoints and restores it on resume, so that gradients are added
/// in the same order. Also makes the message about a non-finite gradient name the checkpoint to resume from.
/// @param run  Not resumed yet.
/// @param ddp  Outlives the run; takes no step after it.
void connect(run::Run& run, DistributedDataParallel& ddp);

/// This rank's device: with --device cuda, GPU `local_rank`. With --bind-cores, also pins the rank to the
/// `local_rank`-th share of the host's processors; otherwise the kernel places it.
/// @param local_rank, local_world_size  This rank's number on its host, and the number of ranks there.
/// @throws  As run::RunOptions::device_of().
[[nodiscard]] Device use_device(const run::RunOptions& options, int local_rank, int local_world_size);

}  // namespace lockstep::ddp
