#pragma once
/// @file
/// Finds the largest batch that fits into the memory of every rank.
#include <cstdint>
#include <exception>
#include <functional>

#include "08_accelerate/process/partial_state.hpp"

namespace lockstep::accelerate {

/// Whether `error` reports a lack of memory, on the host or on a device.
[[nodiscard]] bool is_out_of_memory(const std::exception& error) noexcept;

/// Tries batch sizes until one fits on all ranks: `starting_batch_size`, half of it, half of that, ... If the size does
/// not fit on one rank, all ranks try the next. Memory left behind by a failed trial is released before the next.
/// Collective. (Accelerate's function of this name lets each process find its own size.)
/// @param starting_batch_size  The same on all ranks, at least 1.
/// @param trial  Uses as much memory as a step, for example in forward and backward of a model that is not prepared. It
///               must not communicate, because a rank that runs out of memory would leave the others waiting, and must
///               free its memory when it returns or throws.
/// @return       The size that fits, the same on all ranks.
/// @throws Error          On all ranks: not even 1 fits; names the first rank on which it does not.
/// @throws ContractError  starting_batch_size below 1.
/// @throws  Any other exception of `trial`; the group then fails on the other ranks.
std::int64_t find_executable_batch_size(const PartialState& ranks, std::int64_t starting_batch_size,
                                        const std::function<void(std::int64_t batch_size)>& trial);

}  // namespace lockstep::accelerate
