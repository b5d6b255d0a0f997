#pragma once
/// @file
/// Numbers with what they count, for the judges of this chapter.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace lockstep::exercise {

/// "1 rank", "2 ranks". @param noun  Whose plural ends in s.
[[nodiscard]] inline std::string counted(std::int64_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace lockstep::exercise
