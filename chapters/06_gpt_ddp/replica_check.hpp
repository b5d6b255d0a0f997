#pragma once
/// @file
/// Small checks across replicas: whether all ranks hold the same parameters, and averages of single numbers.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::run {
class Run;
}

namespace lockstep::ddp {

/// Gathers one row per rank: on every rank, row r is at [r * row.size(), (r + 1) * row.size()).
///
/// @param row  Any values; of equal size on all ranks.
/// @cost       One all-reduce of world_size() * row.size() * 8 bytes: for small tables.
[[nodiscard]] std::vector<std::int64_t> gather_rows(comm::ProcessGroup& group, std::span<const std::int64_t> row);

/// The average of `value` over all ranks, identical on all of them.
[[nodiscard]] double average_over_ranks(comm::ProcessGroup& group, double value);

/// A hash of every bit of every parameter: equal digests mean equal replicas (up to a chance of 2^-64).
[[nodiscard]] std::uint64_t parameter_digest(const nn::Module& module);

/// Whether the step that has just ended is followed by a comparison of the replicas: every --check-replicas steps, and
/// before a checkpoint. The same on all ranks.
[[nodiscard]] bool replica_check_is_due(const run::Run& run);

/// Compares the parameters of all ranks bit for bit, if they are there: those released at the moment (the same on all
/// ranks) are not fetched.
///
/// @param when  For the message, for example "after step 100".
/// @throws MismatchError  On every rank: names the first tensor that differs, and the ranks that differ from the
///                        majority (or from rank 0, if there is none).
/// @throws ContractError  Ranks hold different elements of a parameter, and are meant to.
/// @cost   One pass over the parameters, and all-reduces of world_size() * 8 bytes for each tensor and once more.
void require_equal_parameters(const nn::Module& module, comm::ProcessGroup& group, std::string_view when);

/// Compares names, shapes and dtypes (not values) of all ranks' parameters and buffers.
/// @throws MismatchError  On every rank: names the first tensor that differs, as on rank 0 and as on another rank.
void require_equal_layout(const nn::Module& module, comm::ProcessGroup& group);

}  // namespace lockstep::ddp
