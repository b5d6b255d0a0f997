#include "06_gpt_ddp/5_overlap/reducer.hpp"

#include <algorithm>

namespace lockstep::ddp {

void Reducer::on_gradient_ready(std::size_t parameter) {
  // TODO(06.5): count the gradient, then launch the buckets that can leave, in their order
  lockstep::todo("06.5 on_gradient_ready");
}

void Reducer::on_backward_end() {
  // TODO(06.5): launch the rest, wait for all buckets, prepare the next step
  lockstep::todo("06.5 on_backward_end");
}

}  // namespace lockstep::ddp
