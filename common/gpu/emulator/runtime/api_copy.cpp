#include "emulator/cuda/lockstep_emulator/api_copy.h"

#include <utility>

#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/scheduler.hpp"
#include "emulator/runtime/transfer.hpp"

namespace lockstep::emulator {
namespace {

Transfer contiguous(const char* name, SourcePlace place, void* to, const void* from, std::size_t bytes) {
  Transfer copy{name, place};
  copy.to = static_cast<std::byte*>(to);
  copy.from = static_cast<const std::byte*>(from);
  copy.width = bytes;
  return copy;
}

cudaError_t copy_in(cudaStream_t stream, const Transfer& copy, cudaMemcpyKind kind, HostWaits waits) {
  return api_call(copy.name, ApiNeeds::kWorkingDevice,
                  [&] { transfer(copy, kind, Handles::instance().queue(stream), waits); });
}

// Orders later work of `queue` after all work issued to the device so far.
void wait_for_device(const std::shared_ptr<StreamQueue>& queue, int device) {
  Operation wait;
  wait.waits = Scheduler::instance().tails(device);
  Scheduler::instance().enqueue(queue, std::move(wait));
}

// Orders later work of the device's blocking streams after all work issued to `queue` so far.
void hold_device(int device, const std::shared_ptr<StreamQueue>& queue) {
  Operation wait;
  wait.waits.push_back(Scheduler::instance().tail(queue));
  Scheduler::instance().enqueue(Scheduler::instance().legacy(device), std::move(wait));
}

// A copy between devices runs after all work issued to the source device so far, and before its later work.
cudaError_t copy_between(const Transfer& copy, int to_device, int from_device, cudaStream_t stream, HostWaits waits) {
  return api_call(copy.name, ApiNeeds::kWorkingDevice, [&] {
    require_device(to_device);
    require_device(from_device);
    const auto is_on = [](const void* address, int device) {
      const int found = device_of(address);
      return found < 0 || found == device;
    };
    api_require(is_on(copy.to, to_device) && is_on(copy.from, from_device), cudaErrorInvalidValue,
                "an address is of another device than the call says");
    const auto queue = Handles::instance().queue(stream);
    const bool is_synchronous = waits == HostWaits::kAsSynchronousCall;
    for (const int device : {to_device, from_device}) {
      if (is_synchronous && device != queue->device) wait_for_device(queue, device);
    }
    transfer(copy, cudaMemcpyDefault, queue, waits);
    for (const int device : {to_device, from_device}) {
      if (is_synchronous && device != queue->device) hold_device(device, queue);
    }
  });
}

cudaError_t copy_symbol(const Transfer& copy, const void* symbol, std::size_t symbol_bytes, std::size_t offset,
                        cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (symbol == nullptr || offset > symbol_bytes || copy.width > symbol_bytes - offset) {
    return api_call(copy.name, ApiNeeds::kWorkingDevice, [] {
      throw ApiError{cudaErrorInvalidValue, "the bytes do not lie in the variable"};
    });
  }
  note_symbol(symbol, symbol_bytes);
  const bool is_async = stream != nullptr;
  return copy_in(is_async ? *stream : nullptr, copy, kind,
                 is_async ? HostWaits::kAsAsynchronousCall : HostWaits::kAsSynchronousCall);
}

}  // namespace

cudaError_t copy_to_symbol(const void* symbol, size_t symbol_bytes, const void* from, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, const cudaStream_t* stream, SourcePlace place) {
  auto* to = static_cast<std::byte*>(const_cast<void*>(symbol)) + offset;
  return copy_symbol(contiguous("cudaMemcpyToSymbol", place, to, from, bytes), symbol, symbol_bytes, offset, kind,
                     stream);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, size_t symbol_bytes, size_t bytes, size_t offset,
                             cudaMemcpyKind kind, const cudaStream_t* stream, SourcePlace place) {
  const auto* from = static_cast<const std::byte*>(symbol) + offset;
  return copy_symbol(contiguous("cudaMemcpyFromSymbol", place, to, from, bytes), symbol, symbol_bytes, offset, kind,
                     stream);
}

cudaError_t symbol_address(void** pointer, const void* symbol, size_t symbol_bytes) {
  return api_call("cudaGetSymbolAddress", ApiNeeds::kDevice, [&] {
    api_require(pointer != nullptr && symbol != nullptr, cudaErrorInvalidValue, "an address is null");
    note_symbol(symbol, symbol_bytes);
    *pointer = const_cast<void*>(symbol);
  });
}

}  // namespace lockstep::emulator

using namespace lockstep::emulator;

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, SourcePlace place) {
  return copy_in(nullptr, contiguous("cudaMemcpy", place, to, from, bytes), kind, HostWaits::kAsSynchronousCall);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                            SourcePlace place) {
  return copy_in(stream, contiguous("cudaMemcpyAsync", place, to, from, bytes), kind, HostWaits::kAsAsynchronousCall);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind, SourcePlace place) {
  const Transfer copy{
      "cudaMemcpy2D", place, static_cast<std::byte*>(to), to_pitch, static_cast<const std::byte*>(from), from_pitch,
      width,          height};
  return copy_in(nullptr, copy, kind, HostWaits::kAsSynchronousCall);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream, SourcePlace place) {
  const Transfer copy{"cudaMemcpy2DAsync",
                      place,
                      static_cast<std::byte*>(to),
                      to_pitch,
                      static_cast<const std::byte*>(from),
                      from_pitch,
                      width,
                      height};
  return copy_in(stream, copy, kind, HostWaits::kAsAsynchronousCall);
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           SourcePlace place) {
  return copy_between(contiguous("cudaMemcpyPeer", place, to, from, bytes), to_device, from_device, nullptr,
                      HostWaits::kAsSynchronousCall);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream, SourcePlace place) {
  return copy_between(contiguous("cudaMemcpyPeerAsync", place, to, from, bytes), to_device, from_device, stream,
                      HostWaits::kAsAsynchronousCall);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes, SourcePlace place) {
  return api_call("cudaMemset", ApiNeeds::kWorkingDevice, [&] {
    set_bytes("cudaMemset", place, pointer, value, bytes, Handles::instance().queue(nullptr),
              HostWaits::kAsSynchronousCall);
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream, SourcePlace place) {
  return api_call("cudaMemsetAsync", ApiNeeds::kWorkingDevice, [&] {
    set_bytes("cudaMemsetAsync", place, pointer, value, bytes, Handles::instance().queue(stream),
              HostWaits::kAsAsynchronousCall);
  });
}
