#pragma once
/// @file
/// The groups of a rank that divides a model in three ways, and errors that say which of them another rank is in.
#include <memory>
#include <string>

#include "12_three_dimensions/rank_grid.hpp"
#include "comm/process_group.hpp"

namespace lockstep::grid {

using Group = comm::ProcessGroup;

/// A rank's group on each axis; on an axis with one rank, a group of this rank alone.
struct GridGroups {
  std::unique_ptr<Group> tensor;    ///< Ranks with other parts of the same matrices; the same samples.
  std::unique_ptr<Group> data;      ///< Ranks with the same weights; other samples.
  std::unique_ptr<Group> pipeline;  ///< Ranks with other blocks; the same samples. Links are made within it.

  [[nodiscard]] Group& along(Axis axis) const;
};

/// Settings of split().
struct SplitOptions {
  std::string host = {};  ///< A name of this rank's host, for tests; empty: the kernel's boot id.
};

/// Makes all groups at once, axis after axis, on every rank in the same order: groups that each rank made when it first
/// used one would be waited for in different orders, and hang. Collective.
/// @param world  All ranks of the grid.
/// @throws UsageError     As require_tensor_on_one_host(), on all ranks.
/// @throws ContractError  `world` has other ranks than the grid.
[[nodiscard]] GridGroups split(Group& world, const RankGrid& grid, const SplitOptions& options = {});

/// How this rank and another one are related: "rank 4 (pipeline 1, data 0, tensor 0) is in tensor{4,5} with this rank
/// (pipeline 1, data 0, tensor 1)"; "... is in no group with this rank ...".
/// @param other  A rank of the job.
[[nodiscard]] std::string describe(const RankGrid& grid, int other);

/// For a catch block: throws the current exception again. If another rank is its cause, the message ends with
/// describe(); if no single rank is, with this rank's place. Other errors than those of communication stay as they are.
[[noreturn]] void rethrow_with_place(const RankGrid& grid);

}  // namespace lockstep::grid
