// Missing order between streams and with the host, as public bug reports describe it; each program is written anew.
// `// program: name` begins one; check_planted explains the markers.
#include <mutex>
#include <thread>

#include "../suite.cuh"

namespace streams_of_reports {

__global__ void fill(float* out, float value, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = value;
}

using suite::add;
using suite::copy;

constexpr int kCount = 4096, kBlocks = 64;
constexpr std::size_t kBytes = kCount * sizeof(float);

}  // namespace streams_of_reports

// program: memset_on_the_default_stream
// https://github.com/alpaka-group/alpaka/issues/851: cudaMemset returns early, and the kernel's stream does not wait.
namespace memset_on_the_default_stream {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount), ones(std::vector<float>(kCount, 1));
  suite::Stream stream;
  CHECK(cudaMemset(x.get(), 0, kBytes));
  add<<<kBlocks, 64, 0, stream>>>(x.get(), ones.get(), kCount);  // BUG: streams without order
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(true);
}

}  // namespace memset_on_the_default_stream

// program: kernel_during_copy
// https://github.com/ROCm/pytorch/issues/3194: the input arrives on a stream that the kernel's does not wait for.
namespace kernel_during_copy {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Pinned<float> input(kCount, 1);
  suite::Stream transfers, compute;
  CHECK(cudaMemcpyAsync(x.get(), input.get(), kBytes, cudaMemcpyHostToDevice, transfers));
  copy<<<kBlocks, 64, 0, compute>>>(y.get(), x.get(), kCount);  // BUG: streams without order
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace kernel_during_copy

// program: one_event_for_two_producers
// https://github.com/torch/cutorch/pull/222: an event recorded on one stream after another marks only the last of them.
namespace one_event_for_two_producers {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream first, second, consumer;
  suite::Event is_done;
  fill<<<kBlocks, 64, 0, first>>>(x.get(), 1, kCount);
  CHECK(cudaEventRecord(is_done, first));
  fill<<<kBlocks, 64, 0, second>>>(y.get(), 2, kCount);
  CHECK(cudaEventRecord(is_done, second));
  CHECK(cudaStreamWaitEvent(consumer, is_done, 0));
  add<<<kBlocks, 64, 0, consumer>>>(y.get(), x.get(), kCount);  // BUG: streams without order
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace one_event_for_two_producers

// program: wait_before_record
// https://github.com/sgl-project/sglang/pull/14214: the wait is issued before the record, and so waits for nothing.
namespace wait_before_record {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream producer, consumer;
  suite::Event is_filled;
  CHECK(cudaStreamWaitEvent(consumer, is_filled, 0));  // BUG: wait for an event never recorded
  fill<<<kBlocks, 64, 0, producer>>>(x.get(), 1, kCount);
  CHECK(cudaEventRecord(is_filled, producer));
  copy<<<kBlocks, 64, 0, consumer>>>(y.get(), x.get(), kCount);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace wait_before_record

// program: record_before_kernel
// https://github.com/cp2k/dbcsr/pull/400: the event is not recorded after the work that the other stream waits for.
namespace record_before_kernel {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream producer, consumer;
  suite::Event is_filled;
  CHECK(cudaEventRecord(is_filled, producer));
  fill<<<kBlocks, 64, 0, producer>>>(x.get(), 1, kCount);
  CHECK(cudaStreamWaitEvent(consumer, is_filled, 0));
  copy<<<kBlocks, 64, 0, consumer>>>(y.get(), x.get(), kCount);  // BUG: streams without order
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace record_before_kernel

// program: copy_overtakes_kernel
// https://github.com/alpaka-group/alpaka/issues/850: cudaMemcpy does not wait for kernels of non-blocking streams. This
// one has yet to run when the host has waited for the copy.
namespace copy_overtakes_kernel {
using namespace streams_of_reports;

std::mutex gate;

int run() {
  suite::Array<float> x(std::vector<float>(kCount, 1)), y(kCount);
  const std::vector<float> next(kCount, 2);
  suite::Stream stream;
  gate.lock();
  const auto wait_for_gate = [](void*) { const std::lock_guard<std::mutex> wait(gate); };
  CHECK(cudaLaunchHostFunc(stream, wait_for_gate, nullptr));
  copy<<<kBlocks, 64, 0, stream>>>(y.get(), x.get(), kCount);  // BUG: streams without order
  CHECK(cudaMemcpy(x.get(), next.data(), kBytes, cudaMemcpyHostToDevice));
  gate.unlock();
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(true);
}

}  // namespace copy_overtakes_kernel

// program: result_on_the_default_stream
// https://github.com/vortex-data/vortex/pull/6157: cudaMemcpy waits for the default stream, not for the kernel's.
namespace result_on_the_default_stream {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount);
  suite::Stream stream;
  std::vector<float> result(kCount);
  fill<<<kBlocks, 64, 0, stream>>>(x.get(), 1, kCount);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most likely the kernel is done; nobody has asked
  CHECK(cudaMemcpy(result.data(), x.get(), kBytes, cudaMemcpyDeviceToHost));  // BUG: streams without order
  return suite::verdict(true);
}

}  // namespace result_on_the_default_stream

// program: stream_argument_forgotten
// https://github.com/NVIDIA/cuopt/pull/1858: the sums are cleared for the next round in the default stream.
namespace stream_argument_forgotten {
using namespace streams_of_reports;

int run() {
  suite::Array<float> sums(std::vector<float>(kCount, 1)), total(std::vector<float>(kCount, 0));
  suite::Stream stream;
  add<<<kBlocks, 64, 0, stream>>>(total.get(), sums.get(), kCount);
  CHECK(cudaMemsetAsync(sums.get(), 0, kBytes));  // BUG: streams without order
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(true);
}

}  // namespace stream_argument_forgotten

// program: scratch_of_two_streams
// https://github.com/kokkos/kokkos/issues/3246: kernels on two streams use the same scratch memory.
namespace scratch_of_two_streams {
using namespace streams_of_reports;

int run() {
  suite::Array<float> scratch(kCount), x(kCount), y(kCount);
  suite::Stream one, two;
  fill<<<kBlocks, 64, 0, one>>>(scratch.get(), 1, kCount);
  copy<<<kBlocks, 64, 0, one>>>(x.get(), scratch.get(), kCount);  // ALSO: streams without order
  fill<<<kBlocks, 64, 0, two>>>(scratch.get(), 2, kCount);        // BUG: streams without order
  copy<<<kBlocks, 64, 0, two>>>(y.get(), scratch.get(), kCount);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace scratch_of_two_streams

// program: arguments_overwritten
// https://github.com/Genesis-Embodied-AI/quadrants/pull/649: new arguments replace those still being read.
namespace arguments_overwritten {
using namespace streams_of_reports;

int run() {
  suite::Array<float> args(kCount), x(kCount), y(kCount);
  suite::Pinned<float> first(kCount, 1), second(kCount, 2);
  suite::Stream one, two;
  CHECK(cudaMemcpyAsync(args.get(), first.get(), kBytes, cudaMemcpyHostToDevice, one));
  copy<<<kBlocks, 64, 0, one>>>(x.get(), args.get(), kCount);
  CHECK(cudaMemcpyAsync(args.get(), second.get(), kBytes, cudaMemcpyDefault, two));  // BUG: streams without order
  copy<<<kBlocks, 64, 0, two>>>(y.get(), args.get(), kCount);                        // ALSO: streams without order
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace arguments_overwritten

// program: staging_overwritten
// https://github.com/NVIDIA/cuopt/pull/1759: the staging buffer is refilled while it is copied.
namespace staging_overwritten {
using namespace streams_of_reports;

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Pinned<float> staging(kCount, 1);
  suite::Stream stream;
  CHECK(cudaMemcpyAsync(x.get(), staging.get(), kBytes, cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < kCount; ++i) {
    staging[i] = 2;  // BUG: pinned memory changed before its copy
  }
  CHECK(cudaMemcpyAsync(y.get(), staging.get(), kBytes, cudaMemcpyHostToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(true);
}

}  // namespace staging_overwritten

// program: pinned_block_recycled
// https://github.com/pytorch/pytorch/issues/130785: the pool gets the pinned block back while the copy still reads it.
namespace pinned_block_recycled {
using namespace streams_of_reports;

std::vector<float*> pool;

float* take() {
  float* block = nullptr;
  if (pool.empty()) {
    CHECK(cudaMallocHost(&block, kBytes));
  } else {
    block = pool.back();
    pool.pop_back();
  }
  return block;
}

void send(float value, float* device, cudaStream_t stream) {
  float* block = take();
  for (int i = 0; i < kCount; ++i) {
    block[i] = value;  // BUG: pinned memory changed before its copy
  }
  CHECK(cudaMemcpyAsync(device, block, kBytes, cudaMemcpyHostToDevice, stream));
  pool.push_back(block);
}

int run() {
  suite::Array<float> x(kCount), y(kCount);
  suite::Stream stream;
  send(1, x.get(), stream);
  send(2, y.get(), stream);
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(true);
}

}  // namespace pinned_block_recycled

// program: value_returned_at_once
// https://github.com/NVIDIA/cudf/issues/2755: a value is copied to the host asynchronously and returned.
namespace value_returned_at_once {
using namespace streams_of_reports;

float value_at(const float* device, float* host, cudaStream_t stream) {
  CHECK(cudaMemcpyAsync(host, device, sizeof(float), cudaMemcpyDeviceToHost, stream));
  return *host;  // BUG: result used before it is synchronized
}

int run() {
  suite::Array<float> x(std::vector<float>(kCount, 1));
  suite::Pinned<float> host(1, 0);
  suite::Stream stream;
  const float value = value_at(x.get(), host.get(), stream);
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(value == 1);
}

}  // namespace value_returned_at_once

// program: block_recycled_on_another_stream
// https://github.com/meta-pytorch/torchrec/pull/4231: a block is reused on its own stream while another one copies it.
namespace block_recycled_on_another_stream {
using namespace streams_of_reports;

int run() {
  suite::Array<float> block(kCount);
  suite::Pinned<float> stash(kCount, 0);
  suite::Stream compute, transfers;
  suite::Event is_filled;
  fill<<<kBlocks, 64, 0, compute>>>(block.get(), 1, kCount);
  CHECK(cudaEventRecord(is_filled, compute));
  CHECK(cudaStreamWaitEvent(transfers, is_filled, 0));
  CHECK(cudaMemcpyAsync(stash.get(), block.get(), kBytes, cudaMemcpyDeviceToHost, transfers));
  float* again = block.get();                           // from an allocator that knows of `compute` only
  fill<<<kBlocks, 64, 0, compute>>>(again, 2, kCount);  // BUG: streams without order
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace block_recycled_on_another_stream

// program: freed_on_the_default_stream
// https://github.com/supranational/sppark/pull/81: cudaFreeAsync is given the null stream, the kernels run on another.
namespace freed_on_the_default_stream {
using namespace streams_of_reports;

int run() {
  float* x = nullptr;
  suite::Stream stream;
  CHECK(cudaMallocAsync(&x, kBytes, stream));
  fill<<<kBlocks, 64, 0, stream>>>(x, 1, kCount);
  CHECK(cudaFreeAsync(x, nullptr));  // BUG: streams without order
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace freed_on_the_default_stream

// program: freed_before_the_last_kernel
// https://github.com/roastduck/FreeTensor/pull/566: the buffer is freed before the kernel that uses it has been issued.
namespace freed_before_the_last_kernel {
using namespace streams_of_reports;

__global__ void scale(float* x, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] *= 2;  // BUG: use after free
}

int run() {
  float* x = nullptr;
  suite::Stream stream;
  CHECK(cudaMallocAsync(&x, kBytes, stream));
  fill<<<kBlocks, 64, 0, stream>>>(x, 1, kCount);
  CHECK(cudaFreeAsync(x, stream));
  scale<<<kBlocks, 64, 0, stream>>>(x, kCount);
  CHECK(cudaStreamSynchronize(stream));
  return suite::verdict(true);
}

}  // namespace freed_before_the_last_kernel
