#include "emulated_nccl/enqueue.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "emulated_nccl/failure.hpp"
#include "emulated_nccl/staging.hpp"

namespace lockstep::emulated_nccl {
namespace {

// Makes a device current within a scope.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    cuda_require(cudaGetDevice(&before_), "asking for the current device");
    cuda_require(cudaSetDevice(device), "choosing the communicator's device");
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

void require_memory(const Operation& operation, const void* pointer, std::size_t bytes, int device) {
  if (bytes == 0) return;
  cudaPointerAttributes attributes{};
  const bool is_known = pointer != nullptr && succeeds(cudaPointerGetAttributes(&attributes, pointer));
  const bool is_of_device = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  nccl_require(is_known && is_of_device && attributes.device == device, ncclInvalidArgument, operation.name, ": ",
               pointer, " is not memory of the communicator's device, ", device);
}

// One group of operations, from its first copy to its last.
struct Batch {
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    if (!is_enqueued) return;  // the copies of a group that failed half-way may still run
    for (Staging& block : memory) block.finish();
  }

  std::shared_ptr<Communicator> communicator;
  std::uint64_t number = 0;
  std::vector<HostOperation> operations;
  std::vector<Staging> memory;
  bool is_enqueued = false;  // all of it: the last stream that forgets the batch has ended its copies
};
using SharedBatch = std::shared_ptr<Batch>;

void run_batch(cudaStream_t, cudaError_t, void* data) {
  const std::unique_ptr<SharedBatch> batch(static_cast<SharedBatch*>(data));
  (*batch)->communicator->run((*batch)->number, (*batch)->operations);
}

void forget_batch(cudaStream_t, cudaError_t, void* data) { delete static_cast<SharedBatch*>(data); }

// Callbacks, not cudaLaunchHostFunc(), because they are called on a failed device too: later groups must not wait for
// this group's turn forever.
void call_later(cudaStream_t stream, cudaStreamCallback_t callback, const SharedBatch& batch) {
  auto data = std::make_unique<SharedBatch>(batch);
  cuda_require(cudaStreamAddCallback(stream, callback, data.get(), 0), "enqueueing a function");
  static_cast<void>(data.release());  // the callback's
}

void wait_for(cudaStream_t waiting, cudaStream_t awaited) {
  cudaEvent_t event = nullptr;
  cuda_require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  const cudaError_t recorded = cudaEventRecord(event, awaited);
  const cudaError_t waits = cudaStreamWaitEvent(waiting, event, 0);
  cudaEventDestroy(event);
  cuda_require(recorded, "recording an event");
  cuda_require(waits, "waiting for an event");
}

std::vector<cudaStream_t> streams_of(std::span<const Operation> operations) {
  std::vector<cudaStream_t> streams;
  for (const Operation& operation : operations) {
    if (std::find(streams.begin(), streams.end(), operation.stream) == streams.end())
      streams.push_back(operation.stream);
  }
  return streams;
}

std::span<std::byte> staging_for(Batch& batch, cudaStream_t stream, std::size_t bytes) {
  if (bytes == 0) return {};
  return batch.memory.emplace_back(batch.communicator->own().device, stream, bytes).bytes();
}

void copy_in(Batch& batch, const Operation& operation) {
  const Membership& own = batch.communicator->own();
  const auto input = staging_for(batch, operation.stream, input_bytes(operation, own.rank, own.size));
  const auto output = staging_for(batch, operation.stream, output_bytes(operation, own.rank, own.size));
  batch.operations.push_back({operation, input, output});
  if (input.empty()) return;
  cuda_require(cudaMemcpyAsync(input.data(), operation.send, input.size(), cudaMemcpyDeviceToHost, operation.stream),
               "copying from the device");
}

void copy_out(const HostOperation& operation) {
  if (operation.output.empty()) return;
  cuda_require(cudaMemcpyAsync(operation.call.receive, operation.output.data(), operation.output.size(),
                               cudaMemcpyHostToDevice, operation.call.stream),
               "copying to the device");
}

}  // namespace

void require_valid(const Communicator& communicator, const Operation& operation) {
  const auto& [point, rank, size, device] = communicator.own();
  require_known(operation, size);
  require_memory(operation, operation.send, input_bytes(operation, rank, size), device);
  require_memory(operation, operation.receive, output_bytes(operation, rank, size), device);
  const DeviceScope scope(device);
  int device_of_stream = -1;
  nccl_require(succeeds(cudaStreamGetDevice(operation.stream, &device_of_stream)) && device_of_stream == device,
               ncclInvalidArgument, operation.name, ": the stream does not belong to the communicator's device, ",
               device);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  nccl_require(
      succeeds(cudaStreamIsCapturing(operation.stream, &capture)) && capture == cudaStreamCaptureStatusNone,
      ncclInvalidUsage, operation.name,
      ": the stream is captured, and the emulator's NCCL cannot be part of a graph: call it outside the capture");
}

void enqueue(const std::shared_ptr<Communicator>& communicator, std::span<const Operation> operations) {
  const DeviceScope scope(communicator->own().device);
  const std::vector<cudaStream_t> streams = streams_of(operations);
  const cudaStream_t leader = streams.front();
  const auto batch = std::make_shared<Batch>();
  batch->communicator = communicator;
  for (const Operation& operation : operations) copy_in(*batch, operation);
  for (const cudaStream_t stream : streams) {
    if (stream != leader) wait_for(leader, stream);
  }
  batch->number = communicator->draw_number();
  try {
    call_later(leader, run_batch, batch);
  } catch (...) {
    communicator->give_back_number();  // or later groups, and the communicator's end, would wait for its turn forever
    throw;
  }
  for (const cudaStream_t stream : streams) {
    if (stream != leader) wait_for(stream, leader);
  }
  for (const HostOperation& operation : batch->operations) copy_out(operation);
  for (const cudaStream_t stream : streams) call_later(stream, forget_batch, batch);
  batch->is_enqueued = true;
}

}  // namespace lockstep::emulated_nccl
