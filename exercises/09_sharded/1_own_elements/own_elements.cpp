#include "09_sharded/1_own_elements/own_elements.hpp"

#include <algorithm>

namespace lockstep::sharded {

std::int64_t unit_count(std::span<const std::int64_t> counts, int ranks) {
  // TODO(09.1): add up the parameters and the gaps between them, then the padding
  lockstep::todo("09.1 unit_count");
}

Elements own_elements(std::span<const std::int64_t> counts, std::size_t i, int rank, int ranks) {
  // TODO(09.1): where the parameter's place and the rank's part overlap
  lockstep::todo("09.1 own_elements");
}

}  // namespace lockstep::sharded
