#pragma once
/// @file
/// What can be wrong with a rank's gradients, and the message that names it on every rank.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// What one rank found wrong with one parameter's gradient.
enum class GradientFault : std::uint8_t {
  kNone,        ///< Nothing.
  kMissing,     ///< The loss of this rank does not depend on the parameter.
  kUnexpected,  ///< static_graph: the parameter takes part now and did not in the first step, or the other way round.
  kNotFinite,   ///< An element is NaN or infinite.
  kUnaveraged,  ///< The parameter was frozen when the module was wrapped, and has a gradient now.
};

/// Ranks tell each other what each has found, and throw. To be called on all ranks where one has found something.
///
/// @param faults  Of this rank, one per parameter.
/// @param step    Counts from 1; for the message. Where ranks pass different ones, the largest counts.
/// @param advice  Rank 0's text ends the message of kNotFinite: how to go on. Empty on all ranks or on none.
/// @throws ContractError, Error  The same message on all ranks: names every faulty parameter (the first eight), the
///                               ranks, and the step. ContractError unless the fault is kNotFinite.
/// @cost  One all-reduce of world_size() * (faults.size() + 1) * 8 bytes; with advice, a broadcast of the text.
[[noreturn]] void throw_gradient_faults(comm::ProcessGroup& group, std::span<const nn::NamedParameter> parameters,
                                        std::span<const GradientFault> faults, std::int64_t step,
                                        const std::function<std::string()>& advice = {});

}  // namespace lockstep::ddp
