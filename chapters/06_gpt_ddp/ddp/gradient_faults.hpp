#pragma once
/// @file
/// Faults in a rank's gradients, and the message that names them on every rank.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// The fault of one parameter's gradient on one rank.
enum class GradientFault : std::uint8_t {
  kNone,
  kMissing,     ///< The loss of this rank does not depend on the parameter.
  kUnexpected,  ///< static_graph: the parameter is used now but was not in the first step, or vice versa.
  kNotFinite,   ///< An element is NaN or infinite.
  kUnaveraged,  ///< The parameter was frozen when the module was wrapped, and has a gradient now.
};

/// Exchanges the ranks' faults, and throws. Call on all ranks if any rank has found a fault.
///
/// @param faults  This rank's, one per parameter.
/// @param step    Counts from 1; for the message. If ranks pass different ones, the largest counts.
/// @param advice  How to go on: rank 0's text ends the message of kNotFinite. Empty on all ranks or on none.
/// @throws ContractError, Error  The same message on all ranks: names every faulty parameter (the first eight), the
///                               ranks, and the step. ContractError unless the fault is kNotFinite.
/// @cost  One all-reduce of world_size() * (faults.size() + 1) * 8 bytes; with advice, a broadcast of the text.
[[noreturn]] void throw_gradient_faults(comm::ProcessGroup& group, std::span<const nn::NamedParameter> parameters,
                                        std::span<const GradientFault> faults, std::int64_t step,
                                        const std::function<std::string()>& advice = {});

}  // namespace lockstep::ddp
