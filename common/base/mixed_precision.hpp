#pragma once
/// @file
/// The precisions of a forward pass, by Accelerate's names.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The type of operations that are safe in it; parameters, their gradients and losses stay float32.
enum class MixedPrecision : std::uint8_t {
  kNo,    ///< The parameters' own type.
  kBf16,  ///< bfloat16: float32's range, 8 significant bits.
  kFp16,  ///< float16: 11 significant bits, but nothing above 65504; gradients need a scaler (optim::GradScaler).
};

/// "no", "bf16", "fp16".
[[nodiscard]] std::string_view name_of(MixedPrecision precision) noexcept;

/// For the help and the checks of options: `one_of(mixed_precision_names())`.
[[nodiscard]] std::vector<std::string> mixed_precision_names();

/// The inverse of name_of().
/// @param where  The source of the name, for the message: "--mixed-precision", "LOCKSTEP_MIXED_PRECISION".
/// @throws UsageError  An unknown name; lists the valid ones.
[[nodiscard]] MixedPrecision parse_mixed_precision(std::string_view name, std::string_view where);

}  // namespace lockstep
