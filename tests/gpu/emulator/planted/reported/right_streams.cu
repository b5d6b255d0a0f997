// Streams used correctly, in ways that a checker could mistake for a missing wait: none of these may be reported.
// `// program: name` begins one.
#include <condition_variable>
#include <mutex>

#include "../suite.cuh"

namespace right_streams {

template <typename T>
__global__ void fill(T* out, T value, int count, int stride = 1) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
  if (i < count) out[i] = value;
}

using suite::add;
using suite::copy;

__global__ void count_up(int* counter) { atomicAdd(counter, 1); }

constexpr int kCount = 4096, kBlocks = 64;
constexpr std::size_t kBytes = kCount * sizeof(float);

bool holds(const suite::Array<float>& x, float value) {
  const std::vector<float> host = x.host();
  return host.front() == value && host.back() == value;
}

}  // namespace right_streams

// program: events_through_a_third_stream
// The order from the first stream to the third goes through the second, which touches nothing.
namespace events_through_a_third_stream {
using namespace right_streams;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream first, second, third;
  suite::Event one, two;
  fill<<<kBlocks, 64, 0, first>>>(x.get(), 1.0F, kCount);
  CHECK(cudaEventRecord(one, first));
  CHECK(cudaStreamWaitEvent(second, one, 0));
  CHECK(cudaEventRecord(two, second));
  CHECK(cudaStreamWaitEvent(third, two, 0));
  copy<<<kBlocks, 64, 0, third>>>(y.get(), x.get(), kCount);
  CHECK(cudaStreamSynchronize(third));
  return suite::verdict(holds(y, 1));
}

}  // namespace events_through_a_third_stream

// program: parts_of_one_array
// Two streams copy and compute parts of one array of bytes; the border is no multiple of four.
namespace parts_of_one_array {
using namespace right_streams;

int run() {
  constexpr int kBorder = 1001, kAll = 4000;
  suite::Array<signed char> x(kAll);
  suite::Pinned<signed char> in(kAll, 1);
  suite::Stream streams[2];
  for (int part = 0; part < 2; ++part) {
    const int begin = part == 0 ? 0 : kBorder, count = part == 0 ? kBorder : kAll - kBorder;
    CHECK(cudaMemcpyAsync(x.get() + begin, in.get() + begin, count, cudaMemcpyHostToDevice, streams[part]));
    fill<<<kBlocks, 64, 0, streams[part]>>>(x.get() + begin, static_cast<signed char>(part), count);
  }
  CHECK(cudaDeviceSynchronize());
  const std::vector<signed char> out = x.host();
  return suite::verdict(out[kBorder - 1] == 0 && out[kBorder] == 1);
}

}  // namespace parts_of_one_array

// program: even_and_odd_elements
// Two streams write the even and the odd elements of one array, and both read the same input.
namespace even_and_odd_elements {
using namespace right_streams;

__global__ void spread(float* out, const float* in, int first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[2 * i + first] = in[i];
}

int run() {
  suite::Array<float> in(std::vector<float>(kCount / 2, 3)), out(kCount);
  suite::Stream even, odd;
  spread<<<kBlocks / 2, 64, 0, even>>>(out.get(), in.get(), 0);
  spread<<<kBlocks / 2, 64, 0, odd>>>(out.get(), in.get(), 1);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(holds(out, 3));
}

}  // namespace even_and_odd_elements

// program: default_stream_between_blocking_ones
// The legacy default stream waits for streams of cudaStreamCreate, and they for it; the last copy waits for both.
namespace default_stream_between_blocking_ones {
using namespace right_streams;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream one(cudaStreamDefault), two(cudaStreamDefault);
  fill<<<kBlocks, 64, 0, one>>>(x.get(), 1.0F, kCount);
  copy<<<kBlocks, 64>>>(y.get(), x.get(), kCount);
  fill<<<kBlocks, 64, 0, two>>>(x.get(), 2.0F, kCount);
  CHECK(cudaMemset(y.get(), 0, kBytes));
  add<<<kBlocks, 64, 0, one>>>(y.get(), y.get(), kCount);
  return suite::verdict(holds(y, 0) && holds(x, 2));
}

}  // namespace default_stream_between_blocking_ones

// program: two_slots_in_turns
// Each slot's first wait is for an event that was never recorded, which means: the slot is free.
namespace two_slots_in_turns {
using namespace right_streams;

int run() {
  suite::Array<float> slots(2 * kCount), sums(std::vector<float>(kCount, 0));
  suite::Pinned<float> input(kCount, 1);
  suite::Stream transfers, compute;
  suite::Event filled[2], used[2];
  for (int round = 0; round < 6; ++round) {
    float* slot = slots.get() + round % 2 * kCount;
    CHECK(cudaStreamWaitEvent(transfers, used[round % 2], 0));
    CHECK(cudaMemcpyAsync(slot, input.get(), kBytes, cudaMemcpyHostToDevice, transfers));
    CHECK(cudaEventRecord(filled[round % 2], transfers));
    CHECK(cudaStreamWaitEvent(compute, filled[round % 2], 0));
    add<<<kBlocks, 64, 0, compute>>>(sums.get(), slot, kCount);
    CHECK(cudaEventRecord(used[round % 2], compute));
  }
  CHECK(cudaStreamSynchronize(compute));
  return suite::verdict(holds(sums, 6));
}

}  // namespace two_slots_in_turns

// program: staging_refilled
// The host waits for the copy's event before it writes the next batch; another copy of the buffer has been waited for.
namespace staging_refilled {
using namespace right_streams;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Pinned<float> staging(kCount, 0);
  suite::Stream stream;
  suite::Event is_copied;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i) staging[i] = static_cast<float>(round);
    CHECK(cudaMemcpyAsync(x.get(), staging.get(), kBytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(y.get(), staging.get(), kBytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(is_copied, stream));
    const float still_readable = staging[round];
    if (still_readable != round) return 1;
    CHECK(cudaEventSynchronize(is_copied));
  }
  return suite::verdict(holds(x, 2) && holds(y, 2));
}

}  // namespace staging_refilled

// program: block_recycled_after_its_readers
// An allocator hands a block on once the stream that still read it has been waited for.
namespace block_recycled_after_its_readers {
using namespace right_streams;

int run() {
  suite::Array<float> block(kCount), other(kCount);
  suite::Stream compute, side;
  suite::Event is_filled, is_read;
  fill<<<kBlocks, 64, 0, compute>>>(block.get(), 1.0F, kCount);
  CHECK(cudaEventRecord(is_filled, compute));
  CHECK(cudaStreamWaitEvent(side, is_filled, 0));
  copy<<<kBlocks, 64, 0, side>>>(other.get(), block.get(), kCount);
  CHECK(cudaEventRecord(is_read, side));
  CHECK(cudaStreamWaitEvent(compute, is_read, 0));
  fill<<<kBlocks, 64, 0, compute>>>(block.get(), 2.0F, kCount);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(holds(block, 2) && holds(other, 1));
}

}  // namespace block_recycled_after_its_readers

// program: queried_until_done
// cudaStreamQuery and cudaEventQuery order the host, and with it all that it issues later, as waiting does.
namespace queried_until_done {
using namespace right_streams;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Pinned<float> result(kCount, 0);
  suite::Stream first, second;
  suite::Event is_copied;
  fill<<<kBlocks, 64, 0, first>>>(x.get(), 1.0F, kCount);
  while (cudaStreamQuery(first) == cudaErrorNotReady) {
  }
  copy<<<kBlocks, 64, 0, second>>>(y.get(), x.get(), kCount);
  CHECK(cudaMemcpyAsync(result.get(), y.get(), kBytes, cudaMemcpyDeviceToHost, second));
  CHECK(cudaEventRecord(is_copied, second));
  while (cudaEventQuery(is_copied) == cudaErrorNotReady) {
  }
  result[0] += 1;
  return suite::verdict(result[0] == 2);
}

}  // namespace queried_until_done

// program: counter_of_two_streams
// Kernels of two streams count into one counter with atomics.
namespace counter_of_two_streams {
using namespace right_streams;

int run() {
  suite::Array<int> counter(std::vector<int>{0});
  suite::Stream one, two;
  count_up<<<kBlocks, 64, 0, one>>>(counter.get());
  count_up<<<kBlocks, 64, 0, two>>>(counter.get());
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(counter.host()[0] == 2 * kCount);
}

}  // namespace counter_of_two_streams

// program: freed_after_the_other_stream
// Memory is freed on the stream that allocated it, after the event of the stream that used it last.
namespace freed_after_the_other_stream {
using namespace right_streams;

int run() {
  suite::Stream owner, user;
  suite::Event is_there, is_used;
  float* x = nullptr;
  for (int round = 0; round < 2; ++round) {
    CHECK(cudaMallocAsync(&x, kBytes, owner));
    fill<<<kBlocks, 64, 0, owner>>>(x, 1.0F, kCount);
    CHECK(cudaEventRecord(is_there, owner));
    CHECK(cudaStreamWaitEvent(user, is_there, 0));
    add<<<kBlocks, 64, 0, user>>>(x, x, kCount);
    CHECK(cudaEventRecord(is_used, user));
    CHECK(cudaStreamWaitEvent(owner, is_used, 0));
    CHECK(cudaFreeAsync(x, owner));
  }
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace freed_after_the_other_stream

// program: host_function_hands_over
// A host function after a kernel wakes a thread of the host, which then uses the result on another stream.
namespace host_function_hands_over {
using namespace right_streams;

std::mutex mutex;
std::condition_variable changed;
bool is_filled = false;

void wake(void*) {
  const std::lock_guard<std::mutex> lock(mutex);
  is_filled = true;
  changed.notify_one();
}

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream producer, consumer;
  fill<<<kBlocks, 64, 0, producer>>>(x.get(), 1.0F, kCount);
  CHECK(cudaLaunchHostFunc(producer, wake, nullptr));
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [] { return is_filled; });
  copy<<<kBlocks, 64, 0, consumer>>>(y.get(), x.get(), kCount);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(holds(y, 1));
}

}  // namespace host_function_hands_over

// program: host_function_reads_the_copy
// A host function of the stream uses pinned memory after the copies, though the host has waited for nothing.
namespace host_function_reads_the_copy {
using namespace right_streams;

int run() {
  suite::Array<float> x(std::vector<float>(kCount, 1));
  suite::Pinned<float> result(kCount, 0);
  suite::Stream stream;
  CHECK(cudaMemcpyAsync(result.get(), x.get(), kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaMemcpyAsync(x.get(), result.get(), kBytes, cudaMemcpyHostToDevice, stream));
  const auto raise = [](void* values) { static_cast<float*>(values)[0] += 1; };
  CHECK(cudaLaunchHostFunc(stream, raise, result.get()));
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(result[0] == 2);
}

}  // namespace host_function_reads_the_copy

// program: fork_and_join
// Work is split over two streams between two events of the first.
namespace fork_and_join {
using namespace right_streams;

int run() {
  suite::Array<float> x(kCount), left(kCount), right(kCount);
  suite::Stream all, workers[2];
  suite::Event begin, ends[2];
  fill<<<kBlocks, 64, 0, all>>>(x.get(), 1.0F, kCount);
  CHECK(cudaEventRecord(begin, all));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamWaitEvent(workers[i], begin, 0));
    copy<<<kBlocks, 64, 0, workers[i]>>>(i == 0 ? left.get() : right.get(), x.get(), kCount);
    CHECK(cudaEventRecord(ends[i], workers[i]));
    CHECK(cudaStreamWaitEvent(all, ends[i], 0));
  }
  add<<<kBlocks, 64, 0, all>>>(left.get(), right.get(), kCount);
  fill<<<kBlocks, 64, 0, all>>>(x.get(), 0.0F, kCount);
  CHECK(cudaStreamSynchronize(all));
  return suite::verdict(holds(left, 2));
}

}  // namespace fork_and_join
