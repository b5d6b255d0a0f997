#include "03_nccl/3_streams_and_events/streams_and_events.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_wait_before", "the all-reduce does not wait for the bucket to be produced",
     "Record an event in the compute stream after produce(), and let the communication stream wait for it."},
    {"no_wait_after", "nothing lets the compute stream wait for the sums",
     "The caller's next operations are in the compute stream: it needs a wait of its own."},
    {"waits_before_recording", "the wait is issued before the event is recorded, so it waits for nothing",
     "First cudaEventRecord() in the stream that is ahead, then cudaStreamWaitEvent() in the other."},
    {"records_before_producing", "the event is recorded before produce() has put its work into the stream",
     "An event marks what the stream has been given so far."},
    {"wrong_stream_waits",
     "the streams are exchanged: compute waits for an event of communication before each all-reduce",
     "Who must be done first, and who waits? cudaEventRecord() names the first, cudaStreamWaitEvent() the second."},
    {"waits_after_each", "the compute stream waits for the sum of each bucket before the next one is produced",
     "The sums are needed only after the last bucket."},
    {"host_waits", "the host waits for the compute stream before each all-reduce",
     "cudaStreamSynchronize() stops the host: the next bucket is not even issued meanwhile."},
    {"produces_all_first", "events are recorded only after the last bucket has been produced, so all sums wait for it",
     "An event marks what its stream has been given so far: record one right after each produce()."},
    {"one_group", "all all-reduces are in one group, so none of them is issued before the last bucket is produced",
     "ncclGroupEnd() issues what is in the group. Leave the group out."},
    {"last_event_of_compute", "the last event is recorded in the compute stream, which then waits for itself",
     "The sums are in the communication stream: record the event there, and let compute wait for it."},
    {"one_stream", "the all-reduces are in the compute stream", "NCCL's stream is streams.communication."},
    {"waits_once", "the communication stream waits for the first bucket only",
     "Each bucket is produced later than the one before: record an event after each produce(), and wait for it."},
    {"count_of_the_first", "every bucket is reduced with the count of the first one", "buckets[k].count"},
    {"waits_for_no_event", "the compute stream waits for an event that was never recorded, which is no wait",
     "Record the event in the communication stream after the last all-reduce, then let the compute stream wait for "
     "it."},
    {"ignores_codes", "the codes that NCCL returns are not looked at", "nccl_check() around every call."},
    {"never_destroys", "the events are never destroyed", "cudaEventDestroy() for each one that was made."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_mistake;

namespace {

void wait_for_no_event(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  cuda_check(cudaStreamWaitEvent(stream, event, 0), "waiting");
  cuda_check(cudaEventDestroy(event), "destroying an event");
}

}  // namespace

void reduce_while_computing(std::span<const Bucket> buckets, const std::function<void(std::size_t bucket)>& produce,
                            ncclComm_t communicator, const Streams& streams) {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  const auto record = [&](cudaStream_t stream) { cuda_check(cudaEventRecord(event, stream), "recording"); };
  const auto wait = [&](cudaStream_t stream) { cuda_check(cudaStreamWaitEvent(stream, event, 0), "waiting"); };
  cudaStream_t const used = is_mistake("one_stream") ? streams.compute : streams.communication;
  if (is_mistake("produces_all_first"))
    for (std::size_t k = 0; k < buckets.size(); ++k) produce(k);
  if (is_mistake("one_group")) nccl_check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    if (is_mistake("records_before_producing")) record(streams.compute);
    if (!is_mistake("produces_all_first")) produce(k);
    if (is_mistake("host_waits")) {
      cuda_check(cudaStreamSynchronize(streams.compute), "waiting");
    } else if (is_mistake("waits_before_recording")) {
      wait(used);
      record(streams.compute);
    } else if (is_mistake("wrong_stream_waits")) {
      record(used);
      wait(streams.compute);
    } else if (!is_mistake("no_wait_before")) {
      if (!is_mistake("records_before_producing")) record(streams.compute);
      if (k == 0 || !is_mistake("waits_once")) wait(used);
    }
    const std::size_t count = buckets[is_mistake("count_of_the_first") ? 0 : k].count;
    const ncclResult_t result =
        ncclAllReduce(buckets[k].gradients, buckets[k].gradients, count, ncclFloat32, ncclSum, communicator, used);
    if (!is_mistake("ignores_codes")) nccl_check(result, "ncclAllReduce");
    if (is_mistake("waits_after_each")) {
      record(used);
      wait(streams.compute);
    }
  }
  if (is_mistake("one_group")) nccl_check(ncclGroupEnd(), "ncclGroupEnd");
  if (is_mistake("waits_for_no_event")) {
    wait_for_no_event(streams.compute);
  } else if (!is_mistake("no_wait_after")) {
    record(is_mistake("last_event_of_compute") ? streams.compute : used);
    wait(streams.compute);
  }
  if (!is_mistake("never_destroys")) cuda_check(cudaEventDestroy(event), "destroying an event");
}

}  // namespace lockstep::nccl
