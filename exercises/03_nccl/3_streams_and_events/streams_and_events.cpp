#include "03_nccl/3_streams_and_events/streams_and_events.hpp"

namespace lockstep::nccl {

void reduce_while_computing(std::span<const Bucket> buckets, const std::function<void(std::size_t bucket)>& produce,
                            ncclComm_t communicator, const Streams& streams) {
  // TODO(03.3): order each all-reduce after its bucket, and what follows after all of them
  lockstep::todo("03.3 reduce_while_computing");
}

}  // namespace lockstep::nccl
