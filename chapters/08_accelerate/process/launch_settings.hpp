#pragma once
/// @file
/// What a launcher chooses for programs that leave it open: `lockstep launch --mixed-precision bf16`, or the file that
/// `lockstep config` has written.
#include <optional>
#include <string>

namespace lockstep::accelerate {

/// LOCKSTEP_DEVICE, or nothing where it is unset or empty: where ranks compute ("cpu", "cuda").
[[nodiscard]] std::optional<std::string> launched_device();

/// LOCKSTEP_MIXED_PRECISION, or nothing where it is unset or empty: "no", "bf16" or "fp16".
/// @source  ACCELERATE_MIXED_PRECISION of Hugging Face Accelerate, which `accelerate launch` sets.
[[nodiscard]] std::optional<std::string> launched_mixed_precision();

}  // namespace lockstep::accelerate
