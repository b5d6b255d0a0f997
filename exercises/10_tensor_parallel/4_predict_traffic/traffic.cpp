#include "10_tensor_parallel/4_predict_traffic/traffic.hpp"

namespace lockstep::tensor_parallel {

CollectiveCounts collectives(const TensorRun& run) {
  // TODO(10.4): of a micro-batch, times their number, and what a step does once
  lockstep::todo("10.4 collectives");
}

std::int64_t bytes_sent(const TensorRun& run) {
  // TODO(10.4): add up the elements of all collectives, an all-reduce counting twice
  lockstep::todo("10.4 bytes_sent");
}

}  // namespace lockstep::tensor_parallel
