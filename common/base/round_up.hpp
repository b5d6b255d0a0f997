#pragma once
/// @file
/// Rounding up to a multiple: sizes to whole pages or size classes, addresses to an alignment.
#include <concepts>
#include <type_traits>

namespace lockstep {

/// The smallest multiple of `multiple` that is at least `value`.
/// @param value     At least 0; the result must fit its type.
/// @param multiple  At least 1.
/// @return  In the type of `value`.
template <std::integral Value>
[[nodiscard]] constexpr Value round_up(Value value, std::type_identity_t<Value> multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace lockstep
