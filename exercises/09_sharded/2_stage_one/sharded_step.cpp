#include "09_sharded/2_stage_one/sharded_step.hpp"

#include <cmath>

namespace lockstep::sharded {

void ShardedStep::launch(std::size_t bucket) {
  // TODO(09.2): issue the reduce-scatter of the bucket's gradients into this rank's part
  lockstep::todo("09.2 launch");
}

void ShardedStep::wait(std::size_t bucket) {
  // TODO(09.2): wait for what launch() has issued
  lockstep::todo("09.2 wait");
}

double ShardedStep::finish(double max_norm) {
  // TODO(09.2): the norm over all ranks, clipping, the update of this rank's parts, the all-gather of values
  lockstep::todo("09.2 finish");
}

}  // namespace lockstep::sharded
