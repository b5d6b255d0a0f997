#include "09_sharded/3_stage_costs/stage_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace lockstep::sharded {

std::int64_t bytes_sent(Stage stage, const ShardedRun& run) {
  // TODO(09.3): add up the elements of all collectives of a step
  lockstep::todo("09.3 bytes_sent");
}

BytesHeld most_bytes_held(Stage stage, const ShardedRun& run) {
  // TODO(09.3): parts of what is divided, and the largest run of units that are whole
  lockstep::todo("09.3 most_bytes_held");
}

}  // namespace lockstep::sharded
