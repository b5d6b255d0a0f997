#include "06_gpt_ddp/3_naive_ddp/naive_ddp.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::ddp {

void average_gradients(std::span<Gradient> gradients, Collectives& group) {
  // TODO(06.3): put all gradients into one vector, all-reduce it once, copy the means back
  lockstep::todo("06.3 average_gradients");
}

}  // namespace lockstep::ddp
