#include "exercise/alternatives.hpp"

#include <vector>

#include "03_nccl/3_streams_and_events/streams_and_events.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"one_event", "one event, recorded again and again, for both directions"},
    {"event_per_sum", "every sum has an event of its own, and the compute stream waits for all of them at the end"},
    {"enqueues_buckets_first", "the host enqueues all buckets, each with an event, and then all all-reduces"},
    {"group_per_bucket", "each all-reduce is a group of one, and events measure times as well"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_alternative;

namespace {

cudaEvent_t make_event() {
  cudaEvent_t event = nullptr;
  const bool measures = is_alternative("group_per_bucket");
  cuda_check(measures ? cudaEventCreate(&event) : cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

// Lets what comes next in `later` wait for all that is in `first` now.
void order(cudaStream_t first, cudaStream_t later, cudaEvent_t event) {
  cuda_check(cudaEventRecord(event, first));
  cuda_check(cudaStreamWaitEvent(later, event, 0));
}

// The streams run as if the all-reduces had been enqueued in between.
void reduce_after_enqueuing(std::span<const Bucket> buckets, const std::function<void(std::size_t bucket)>& produce,
                            ncclComm_t communicator, const Streams& streams) {
  std::vector<cudaEvent_t> events;
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    produce(k);
    events.push_back(make_event());
    cuda_check(cudaEventRecord(events.back(), streams.compute));
  }
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    const auto& [gradients, count] = buckets[k];
    cuda_check(cudaStreamWaitEvent(streams.communication, events[k], 0));
    nccl_check(ncclAllReduce(gradients, gradients, count, ncclFloat32, ncclSum, communicator, streams.communication));
  }
  events.push_back(make_event());
  order(streams.communication, streams.compute, events.back());
  for (const cudaEvent_t event : events) cuda_check(cudaEventDestroy(event));
}

}  // namespace

void reduce_while_computing(std::span<const Bucket> buckets, const std::function<void(std::size_t bucket)>& produce,
                            ncclComm_t communicator, const Streams& streams) {
  if (is_alternative("enqueues_buckets_first")) return reduce_after_enqueuing(buckets, produce, communicator, streams);
  const bool has_one = is_alternative("one_event");
  const cudaEvent_t shared = make_event();
  std::vector<cudaEvent_t> sums;
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    produce(k);
    const cudaEvent_t produced = has_one ? shared : make_event();
    order(streams.compute, streams.communication, produced);
    if (!has_one) cuda_check(cudaEventDestroy(produced));
    const auto& [gradients, count] = buckets[k];
    if (is_alternative("group_per_bucket")) nccl_check(ncclGroupStart());
    nccl_check(ncclAllReduce(gradients, gradients, count, ncclFloat32, ncclSum, communicator, streams.communication));
    if (is_alternative("group_per_bucket")) nccl_check(ncclGroupEnd());
    if (!is_alternative("event_per_sum")) continue;
    sums.push_back(make_event());
    cuda_check(cudaEventRecord(sums.back(), streams.communication));
  }
  for (const cudaEvent_t sum : sums) {
    cuda_check(cudaStreamWaitEvent(streams.compute, sum, 0));
    cuda_check(cudaEventDestroy(sum));
  }
  if (!is_alternative("event_per_sum")) order(streams.communication, streams.compute, shared);
  cuda_check(cudaEventDestroy(shared));
}

}  // namespace lockstep::nccl
