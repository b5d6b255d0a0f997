#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"

#include <algorithm>

namespace lockstep::pipeline {

Schedule one_forward_one_backward(int ranks, int micro_batches) {
  Schedule schedule;
  // TODO(11.1): some forward passes, then one of each in turn, then what is left
  lockstep::todo("11.1 one_forward_one_backward");
  return schedule;
}

}  // namespace lockstep::pipeline
