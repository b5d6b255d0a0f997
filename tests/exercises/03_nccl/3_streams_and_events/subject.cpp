#include "exercise/subject.hpp"

#include <algorithm>

#include "03_nccl/3_streams_and_events/streams_and_events.hpp"
#include "exercises/03_nccl/nccl_rank.hpp"
#include "exercises/03_nccl/recorded_calls.hpp"

namespace lockstep::exercise {
namespace {

// Numbers in the place of addresses: the first address is 0.
std::int64_t number_of(std::vector<const void*>& known, const void* address) {
  const auto found = std::ranges::find(known, address);
  if (found != known.end()) return found - known.begin();
  known.push_back(address);
  return static_cast<std::int64_t>(known.size()) - 1;
}

}  // namespace

// Buckets of so many elements, all of them -1.
struct GivenBuckets {
  explicit GivenBuckets(const std::vector<std::int64_t>& counts) {
    for (const std::int64_t count : counts) {
      memory.emplace_back(std::vector<float>(static_cast<std::size_t>(count), -1));
      buckets.push_back({memory.back().data(), memory.back().count()});
      begins.push_back(begins.back() + memory.back().count());
    }
  }

  std::vector<DeviceFloats> memory;
  std::vector<nccl::Bucket> buckets;
  std::vector<std::size_t> begins = {0};  // of each bucket's values among those of all
};

std::vector<float> values_after(cudaStream_t stream, const std::vector<DeviceFloats>& memory) {
  std::vector<float> values;
  for (const DeviceFloats& bucket : memory) {
    const std::vector<float> part = bucket.values_after(stream);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

// Thrown by the function for memory that NCCL refuses.
Answer try_host_memory(ncclComm_t communicator, const nccl::Streams& streams) {
  std::vector<float> host(4);
  const nccl::Bucket bucket{host.data(), host.size()};
  bool has_thrown = false;
  try {
    nccl::reduce_while_computing(
        std::span(&bucket, 1), [](std::size_t) {}, communicator, streams);
  } catch (const Error&) {
    has_thrown = true;
  }
  Answer result;
  result.set<bool>("has_thrown", has_thrown);
  return result;
}

// Buckets of as many elements from "values" as "counts" says. Reports the calls as "names" with "streams" (0 compute, 1
// communication) and "objects" (a bucket, or the number of an event). With "wants_sums", which depend on chance
// if something is not ordered, reports the values after the compute stream is done.
Answer answer(Question& question) {
  const std::vector<float> values = question.numbers<float>("values");
  ncclComm_t const communicator = join_all_ranks(question);
  const TrialStream compute, communication;
  if (question.get<bool>("is_host_memory"))
    return try_host_memory(communicator, {compute.handle(), communication.handle()});
  float* pinned = nullptr;  // else a copy to the device is done by the host, before produce() returns
  cuda_check(cudaMallocHost(&pinned, values.size() * sizeof(float) + 1));
  std::ranges::copy(values, pinned);
  const GivenBuckets given(question.numbers<std::int64_t>("counts"));
  const auto& [memory, buckets, begins] = given;
  Answer result;
  std::string names;
  std::vector<std::int64_t> streams, objects;
  {
    CallRecorder recorder(question.progress());
    nccl::reduce_while_computing(
        buckets,
        [&](std::size_t k) {
          recorder.add({"produce", compute.handle(), buckets.at(k).gradients});
          cuda_check(cudaMemcpyAsync(buckets[k].gradients, pinned + begins[k], buckets[k].count * sizeof(float),
                                     cudaMemcpyHostToDevice, compute.handle()));
        },
        communicator, {compute.handle(), communication.handle()});
    std::vector<const void*> known_streams = {compute.handle(), communication.handle()}, known_objects;
    for (const nccl::Bucket& bucket : buckets) known_objects.push_back(bucket.gradients);
    for (const RecordedCall& call : recorder.calls()) {
      names += call.name + " ";
      streams.push_back(number_of(known_streams, call.stream));
      objects.push_back(number_of(known_objects, call.object));
    }
  }
  const std::vector<float> sums = values_after(compute.handle(), memory);
  cuda_check(cudaStreamSynchronize(communication.handle()));
  nccl::nccl_check(ncclCommDestroy(communicator), "ncclCommDestroy");
  cuda_check(cudaFreeHost(pinned));
  result.set<std::string>("names", names);
  result.set_numbers<std::int64_t>("streams", streams);
  result.set_numbers<std::int64_t>("objects", objects);
  if (question.get<bool>("wants_sums")) result.set_numbers<float>("sums", sums);
  return result;
}

}  // namespace lockstep::exercise
