#pragma once
/// @file
/// Lists of ranks in messages, short even if there are thousands.
#include <span>
#include <string>

namespace lockstep {

/// The most numbers, or ranges, listed one by one.
inline constexpr std::size_t kMostListed = 8;

/// "0, 2, 5" if there are few numbers; else ranges: "0-511, 513-1023"; if there are many ranges, the first ones and a
/// count of the other numbers: "0, 2, 4, 6, 8, 10, 12, 14 and 504 more".
/// @param numbers  Ascending. @return  Empty if there are none.
[[nodiscard]] std::string list_numbers(std::span<const int> numbers);

}  // namespace lockstep
