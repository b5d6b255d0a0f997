#pragma once
/// @file
/// Stage 1 of ZeRO, as exercise 09.2 asks for it, in the trainer of chapter 09: `./lockstep run 09 --mine`.
#include <memory>
#include <span>

#include "09_sharded/setup.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "comm/process_group.hpp"
#include "mine/fingerprints.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::mine {

/// The parts that can be the learner's: the step of stage 1, and the Reducer of 06.5, which is linked in place of ours.
[[nodiscard]] std::span<const Part> sharded_parts();

/// The wrapper of chapter 09 in stage 1. The part of a step that comes after backward is one call.
class StageOne : public sharded::ShardedDataParallel {
 public:
  /// As ShardedDataParallel.
  StageOne(nn::Module& module, comm::ProcessGroup& group) : ShardedDataParallel(module, group, {.stage = 1}) {}

  /// Clips the gradients, updates this rank's part of the model, and gathers the parts of the others.
  /// @param optimizer  Over shards(). @param max_norm  As clip_grad_norm() takes it.
  /// @return  As clip_grad_norm().
  virtual double update(optim::Optimizer& optimizer, double learning_rate, double max_norm);
};

/// With files of 09.2, their ShardedStep reduces the units and does update(); otherwise our library does.
/// @throws UsageError  Another stage is asked for; or the files are the learner's, and the device is not the CPU.
[[nodiscard]] std::unique_ptr<StageOne> make_stage_one(const Fingerprints& files, nn::Module& module,
                                                       comm::ProcessGroup& group, const sharded::Options& options);

}  // namespace lockstep::mine
