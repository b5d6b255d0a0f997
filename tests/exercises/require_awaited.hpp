#pragma once
/// @file
/// For judges of exercises with collectives: the first thing to look at in an answer.
#include <string>

#include "base/text.hpp"
#include "exercise/examination.hpp"
#include "never_awaited.hpp"

namespace lockstep::exercise {

/// Fails unless every rank has waited for every collective that it has issued.
/// @param hint  How to wait.
inline void require_awaited(Check& check, const Outcome& outcome, int world_size,
                            const std::string& hint =
                                "a collective returns before its result is there: call synchronize() on the Work "
                                "before you use the values") {
  for (int rank = 0; rank < world_size; ++rank)
    if (const auto left = check.get<std::string>(outcome, rank, kNeverAwaited); !left.empty())
      check.wrong(concat("rank ", rank, " has issued ", left, " and never waited for it"), hint);
}

}  // namespace lockstep::exercise
