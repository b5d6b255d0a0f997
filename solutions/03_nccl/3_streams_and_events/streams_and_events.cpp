#include "03_nccl/3_streams_and_events/streams_and_events.hpp"

namespace lockstep::nccl {

void reduce_while_computing(std::span<const Bucket> buckets, const std::function<void(std::size_t bucket)>& produce,
                            ncclComm_t communicator, const Streams& streams) {
  // SOLUTION(03.3) reduce_while_computing: order each all-reduce after its bucket, and what follows after all of them
  // A wait is for what the event marked when the wait was issued, so one event can be recorded again and again.
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  const auto order = [&](cudaStream_t before, cudaStream_t after) {
    cuda_check(cudaEventRecord(event, before), "recording an event");
    cuda_check(cudaStreamWaitEvent(after, event, 0), "waiting for an event");
  };
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    produce(k);
    order(streams.compute, streams.communication);
    nccl_check(ncclAllReduce(buckets[k].gradients, buckets[k].gradients, buckets[k].count, ncclFloat32, ncclSum,
                             communicator, streams.communication),
               "ncclAllReduce");
  }
  order(streams.communication, streams.compute);
  cuda_check(cudaEventDestroy(event), "destroying an event");
  // END SOLUTION
}

}  // namespace lockstep::nccl
