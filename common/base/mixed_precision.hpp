#pragma once
/// @file
/// The precisions that a forward pass may compute in, by Accelerate's names.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What operations compute in where they may; parameters, their gradients and losses stay float32.
enum class MixedPrecision : std::uint8_t {
  kNo,    ///< The parameters' own type.
  kBf16,  ///< bfloat16: float32's range, 8 significant bits.
  kFp16,  ///< float16: 11 significant bits, but nothing above 65504; gradients need a scaler (optim::GradScaler).
};

/// "no", "bf16", "fp16".
[[nodiscard]] std::string_view name_of(MixedPrecision precision) noexcept;

/// All names, for the help and the checks of options: `one_of(mixed_precision_names())`.
[[nodiscard]] std::vector<std::string> mixed_precision_names();

/// What name_of() calls so.
/// @param name   Exactly as name_of() has it.
/// @param where  It was written, for the message: "--mixed-precision", "LOCKSTEP_MIXED_PRECISION".
/// @throws UsageError  Another name; says which there are.
[[nodiscard]] MixedPrecision parse_mixed_precision(std::string_view name, std::string_view where);

}  // namespace lockstep
