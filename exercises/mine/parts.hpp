#pragma once
/// @file
/// The parts of chapter 06's training run that the files of exercises can do in place of ours, in `./lockstep run 06
/// --mine`. A part whose exercises are not all listed in LOCKSTEP_MINE is our library's.
#include <memory>
#include <string>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "comm/process_group.hpp"
#include "data/sampler.hpp"
#include "mine/fingerprints.hpp"
#include "optim/optimizer.hpp"
#include "run/run_options.hpp"

namespace lockstep::mine {

/// As read_fingerprints(), for these parts.
[[nodiscard]] Fingerprints learners_files();

/// As announce(), for the parts that this run uses.
void announce(const Fingerprints& files, comm::ProcessGroup& group);

/// The group of all ranks. With files of 02.1 and 02.2 its all-reduce of float32 is their ring, else it is our ring;
/// both over TCP, so that they can be compared.
/// @throws  As ring::make_ring_process_group().
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_group(const Fingerprints& files, const comm::JobContext& job);

/// This rank's samples. With files of 06.1 the order of an epoch is theirs.
/// @throws  As ddp::DistributedSampler.
[[nodiscard]] std::unique_ptr<data::Sampler> make_sampler(const Fingerprints& files, std::int64_t dataset_size,
                                                          const comm::ProcessGroup& group,
                                                          const run::RunOptions& options);

/// As run::make_optimizer(). With files of 05.1 a step of AdamW is theirs, on the CPU.
[[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer(const Fingerprints& files,
                                                               const run::OptimizerOptions& options,
                                                               const nn::Module& model);

/// As ddp::ddp_options(). With files of 06.3 or 06.4 and none of 06.5 the wrapper averages no gradients:
/// average_gradients() does. (The file of 06.5 is linked in place of ours, so the wrapper averages with it.)
[[nodiscard]] ddp::DdpOptions ddp_options(const Fingerprints& files, const run::RunOptions& options);

/// After backward: with files of 06.4 their buckets average the gradients, else with files of 06.3 their one
/// all-reduce. Nothing if the wrapper has done it.
void average_gradients(const Fingerprints& files, const nn::Module& model, comm::ProcessGroup& group);

/// If the group's all-reduce is the learner's: measures it beside ours on as many bytes as the model has gradients.
/// Called on all ranks. @return  A line for rank 0 to print; empty if the all-reduce is ours.
[[nodiscard]] std::string compare_rings(comm::ProcessGroup& group, std::int64_t gradient_count);

}  // namespace lockstep::mine
