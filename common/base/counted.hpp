#pragma once
/// @file
/// Numbers of things in messages.
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace lockstep {

/// "1 rank", "2 ranks". @param thing  A noun whose plural ends in s, "rank".
template <typename Count>
[[nodiscard]] std::string counted(const Count& count, std::string_view thing) {
  return concat(count, ' ', thing, count == Count{1} ? "" : "s");
}

}  // namespace lockstep
