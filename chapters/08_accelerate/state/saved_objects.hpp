#pragma once
/// @file
/// The contents of save_state()'s checkpoints, and their writing and reading by several ranks.
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

/// The types that register_for_checkpointing() accepts: objects that save and load their state as JSON.
template <typename Object>
concept Checkpointable = requires(Object& object, const nlohmann::json& state) {
  { object.state_dict() } -> std::convertible_to<nlohmann::json>;
  object.load_state_dict(state);
};

/// The record for saving and loading an object's state. @param object  Outlives the record.
template <Checkpointable Object>
[[nodiscard]] run::KeptState kept_state_of(std::string name, Object& object) {
  return {.name = std::move(name),
          .save = [&object]() -> nlohmann::json { return object.state_dict(); },
          .load = [&object](const nlohmann::json& state) { object.load_state_dict(state); }};
}

/// The objects given to prepare() and register_for_checkpointing(), in order; the n-th of a kind is saved and loaded as
/// the n-th. Owns nothing: the objects must still exist when saving or loading.
struct SavedObjects {
  /// A model, and the wrapper that adds up its gradients.
  struct Model {
    nn::Module* module = nullptr;
    std::weak_ptr<ddp::DistributedDataParallel> wrapper;  ///< Its bucket order decides the order of additions.
  };
  std::vector<Model> models;
  std::vector<optim::Optimizer*> optimizers;
  std::vector<std::shared_ptr<std::int64_t>> schedules;  ///< Positions of prepared schedules.
  std::vector<data::Sampler*> samplers;                  ///< Of prepared loaders: the whole job's.
  std::vector<run::KeptState> of_job;                    ///< Registered objects of which rank 0's state counts.
  std::vector<run::KeptState> of_rank;                   ///< Registered objects with a state per rank.
};

/// A written checkpoint.
struct SavedCheckpoint {
  std::filesystem::path checkpoint;  ///< Its folder.
  std::int64_t number = 0;           ///< In its name.
};

/// Writes a checkpoint on rank 0 (checkpoint::CheckpointFolder: complete and verified, or absent), then removes all but
/// the newest `total_limit`. Collective.
/// @param folder       Folder of all checkpoints.
/// @param number       Of this one, in its name; unset: the next after the existing ones. Checkpoints with higher
///                     numbers are set aside, as CheckpointFolder::save() does: the run has gone back before them.
/// @param total_limit  0: keep all.
/// @return             The checkpoint and its number, on all ranks.
/// @throws IoError     On all ranks: rank 0 could not write it, or has no state of an object to write; earlier
///                     checkpoints are untouched.
/// @throws ContractError  A model or an optimizer has only parts of parameters. So does load_objects().
SavedCheckpoint save_objects(const SavedObjects& objects, const PartialState& ranks,
                             const std::filesystem::path& folder, std::optional<std::int64_t> number, int total_limit);

/// The result of load_objects().
struct LoadedCheckpoint {
  std::filesystem::path checkpoint;  ///< The one read.
  std::int64_t number = 0;           ///< As it was saved.
  bool has_rank_states = true;       ///< False: saved by another number of ranks; of_rank is unchanged.
};

/// Loads all objects from the newest checkpoint that verifies, or from the named one; all ranks follow rank 0's choice.
/// Registered objects are loaded before the tensors, because they may refuse their state. Collective.
/// @param path  A folder of checkpoints, or one of them.
/// @throws IoError, FormatError  There is none, or it does not fit the prepared objects; nothing has changed.
/// @throws  What a registered object throws: objects registered before it have their state, and the others are
///          unchanged.
/// @throws MismatchError         On all ranks: a rank lacks rank 0's checkpoint, or its copy is damaged.
LoadedCheckpoint load_objects(const SavedObjects& objects, const PartialState& ranks,
                              const std::filesystem::path& path);

}  // namespace lockstep::accelerate
