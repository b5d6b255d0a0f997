#pragma once
/// @file
/// For judges that know what comes out of common mistakes.
#include <span>
#include <string>

#include "base/text.hpp"
#include "exercise/array_difference.hpp"

namespace lockstep::exercise {

/// The end of a sentence about a wrong result: ": that is what comes out if A, or if B". Empty without a cause.
[[nodiscard]] inline std::string explanation_of(std::span<const std::string> causes) {
  const std::string clause = what_comes_out(causes);
  return clause.empty() ? "" : concat(": ", clause);
}

}  // namespace lockstep::exercise
