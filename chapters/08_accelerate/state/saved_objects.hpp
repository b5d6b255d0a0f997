#pragma once
/// @file
/// Everything that a checkpoint of save_state() holds, and how it is written and read by several ranks.
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "data/sampler.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "run/training_state.hpp"

namespace lockstep::accelerate {

class PartialState;

/// What register_for_checkpointing() takes: an object that gives its state as JSON and takes it back.
template <typename Object>
concept Checkpointable = requires(Object& object, const nlohmann::json& state) {
  { object.state_dict() } -> std::convertible_to<nlohmann::json>;
  object.load_state_dict(state);
};

/// The record by which an object's state is saved and loaded. @param object  Outlives the record.
template <Checkpointable Object>
[[nodiscard]] run::KeptState kept_state_of(std::string name, Object& object) {
  return {.name = std::move(name),
          .save = [&object]() -> nlohmann::json { return object.state_dict(); },
          .load = [&object](const nlohmann::json& state) { object.load_state_dict(state); }};
}

/// What prepare() and register_for_checkpointing() have seen, in their order; the n-th of a kind is saved and loaded as
/// the n-th. Nothing is owned: whoever saves or loads has them still.
struct SavedObjects {
  /// A model, and the wrapper that adds up its gradients.
  struct Model {
    nn::Module* module = nullptr;                         ///< Its parameters and buffers.
    std::weak_ptr<ddp::DistributedDataParallel> wrapper;  ///< Its bucket order decides the order of additions.
  };
  std::vector<Model> models;                             ///< Prepared models.
  std::vector<optim::Optimizer*> optimizers;             ///< Prepared optimizers.
  std::vector<std::shared_ptr<std::int64_t>> schedules;  ///< Positions of prepared schedules.
  std::vector<data::Sampler*> samplers;                  ///< Of prepared loaders: the whole job's.
  std::vector<run::KeptState> of_job;                    ///< Registered; rank 0's state counts.
  std::vector<run::KeptState> of_rank;                   ///< Registered; every rank has its own.
};

/// A checkpoint that has been written.
struct SavedCheckpoint {
  std::filesystem::path checkpoint;  ///< Its folder.
  std::int64_t number = 0;           ///< In its name.
};

/// Writes a checkpoint on rank 0 (checkpoint::CheckpointFolder: complete and verified, or not there), then removes all
/// but the newest `total_limit`. Collective.
/// @param folder       Of the checkpoints.
/// @param number       Of this one, in its name; unset: the one after the last that is there. Those of higher numbers
///                     are removed: the training went back behind them.
/// @param total_limit  0: all stay.
/// @return             The checkpoint and its number, on all ranks.
/// @throws IoError     On all ranks alike: rank 0 could not write it; earlier checkpoints are untouched.
SavedCheckpoint save_objects(const SavedObjects& objects, const PartialState& ranks,
                             const std::filesystem::path& folder, std::optional<std::int64_t> number, int total_limit);

/// What load_objects() has found.
struct LoadedCheckpoint {
  std::filesystem::path checkpoint;  ///< That was read.
  std::int64_t number = 0;           ///< As it was saved.
  bool has_rank_states = true;       ///< False: saved by another number of ranks; of_rank is as it was before.
};

/// Fills everything from the newest checkpoint that verifies, or from the one named: of several ranks, from rank 0's
/// choice. Collective.
/// @param path  A folder of checkpoints, or one of them.
/// @throws IoError, FormatError  There is none, or it does not fit what has been prepared; nothing is changed then.
/// @throws MismatchError         On all ranks alike: a rank lacks rank 0's checkpoint, or its copy is damaged.
LoadedCheckpoint load_objects(const SavedObjects& objects, const PartialState& ranks,
                              const std::filesystem::path& path);

}  // namespace lockstep::accelerate
