#pragma once
/// @file
/// The largest batch that fits into the memory of every rank.
#include <cstdint>
#include <exception>
#include <functional>

#include "08_accelerate/process/partial_state.hpp"

namespace lockstep::accelerate {

/// Whether `error` says that there was not enough memory, on the host or on a device.
[[nodiscard]] bool is_out_of_memory(const std::exception& error) noexcept;

/// Tries batch sizes until one fits on all ranks: `starting_batch_size`, half of it, half of that, ... A rank that fits
/// follows one that does not, and tries the smaller size as well. Memory that a failed trial leaves behind is given
/// back before the next. Collective. (Accelerate's function of this name lets each process find a size of its own.)
/// @param starting_batch_size  The same on all ranks, at least 1.
/// @param trial  Does what a step needs memory for, such as forward and backward of a model that is not prepared. It
///               does not communicate, for a rank that has run out of memory would leave the others waiting, and frees
///               what it makes when it returns or throws.
/// @return       The size that has fitted, on all ranks.
/// @throws Error          On all ranks alike: not even 1 fits; names the first rank on which it does not.
/// @throws ContractError  starting_batch_size below 1.
/// @throws  Whatever else `trial` throws; the group then fails on the other ranks.
std::int64_t find_executable_batch_size(const PartialState& ranks, std::int64_t starting_batch_size,
                                        const std::function<void(std::int64_t batch_size)>& trial);

}  // namespace lockstep::accelerate
