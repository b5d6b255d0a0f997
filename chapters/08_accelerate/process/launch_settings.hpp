#pragma once
/// @file
/// The launcher's choices for programs that leave them open: from `lockstep launch --mixed-precision bf16`, or from the
/// file written by `lockstep config`.
#include <optional>
#include <string>

namespace lockstep::accelerate {

/// LOCKSTEP_DEVICE, or nothing if it is unset or empty: the ranks' device ("cpu", "cuda").
[[nodiscard]] std::optional<std::string> launched_device();

/// LOCKSTEP_MIXED_PRECISION, or nothing if it is unset or empty: "no", "bf16" or "fp16".
/// @source  ACCELERATE_MIXED_PRECISION of Hugging Face Accelerate, which `accelerate launch` sets.
[[nodiscard]] std::optional<std::string> launched_mixed_precision();

}  // namespace lockstep::accelerate
