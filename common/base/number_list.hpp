#pragma once
/// @file
/// Lists of ranks in messages that stay short when there are thousands.
#include <span>
#include <string>

namespace lockstep {

/// Up to this many numbers are listed one by one; of ranges, too, the first ones.
inline constexpr std::size_t kMostListed = 8;

/// "0, 2, 5" where there are few numbers. Of many, ranges: "0-511, 513-1023"; and of many ranges the first ones and how
/// many numbers the others have: "0, 2, 4, 6, 8, 10, 12, 14 and 504 more".
/// @param numbers  Ascending. @return  Empty where there are none.
[[nodiscard]] std::string list_numbers(std::span<const int> numbers);

}  // namespace lockstep
