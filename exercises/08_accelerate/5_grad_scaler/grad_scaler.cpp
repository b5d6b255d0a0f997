#include "08_accelerate/5_grad_scaler/grad_scaler.hpp"

#include <algorithm>

namespace lockstep::accelerate {

bool scaled_step(HalfReplica& replica, const ScalerOptions& options, ScalerState& state, Collectives& group) {
  // TODO(08.5): average, skip if anything is not finite, else unscale, clip and update
  lockstep::todo("08.5 scaled_step");
}

}  // namespace lockstep::accelerate
