#pragma once
/// @file
/// Copies and sets of the runtime's C API. Host memory that is not pinned is copied as in CUDA: to the device through a
/// buffer that is filled at once; to the host while the call waits.
#include "api_memory.h"
#include "export.h"
#include "runtime_types.h"
#include "source_place.h"

extern "C" {

/// In the legacy default stream. Waits for completion, except between device addresses.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                             LOCKSTEP_EMULATOR_HERE);
/// In stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                                  cudaStream_t stream = nullptr, LOCKSTEP_EMULATOR_HERE);
/// `height` rows of `width` bytes; consecutive rows are a pitch apart.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                               size_t width, size_t height, cudaMemcpyKind kind,
                                               LOCKSTEP_EMULATOR_HERE);
/// cudaMemcpy2D in stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                                    size_t width, size_t height, cudaMemcpyKind kind,
                                                    cudaStream_t stream = nullptr, LOCKSTEP_EMULATOR_HERE);
/// Between devices.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                                 size_t bytes, LOCKSTEP_EMULATOR_HERE);
/// Between devices, in stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                                      size_t bytes, cudaStream_t stream = nullptr,
                                                      LOCKSTEP_EMULATOR_HERE);
/// Sets each byte; does not wait if the memory is on a device.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemset(void* pointer, int value, size_t bytes, LOCKSTEP_EMULATOR_HERE);
/// cudaMemset in stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = nullptr,
                                                  LOCKSTEP_EMULATOR_HERE);

}  // extern "C"

namespace lockstep::emulator {

/// Copies to a `__device__` or `__constant__` variable. All emulated devices share one copy of it.
LOCKSTEP_EMULATOR_API cudaError_t copy_to_symbol(const void* symbol, size_t symbol_bytes, const void* from,
                                                 size_t bytes, size_t offset, cudaMemcpyKind kind,
                                                 const cudaStream_t* stream, SourcePlace place);
/// The reverse of copy_to_symbol().
LOCKSTEP_EMULATOR_API cudaError_t copy_from_symbol(void* to, const void* symbol, size_t symbol_bytes, size_t bytes,
                                                   size_t offset, cudaMemcpyKind kind, const cudaStream_t* stream,
                                                   SourcePlace place);
/// A variable's address in kernels: the same as on the host.
LOCKSTEP_EMULATOR_API cudaError_t symbol_address(void** pointer, const void* symbol, size_t symbol_bytes);

}  // namespace lockstep::emulator

/// To a `__device__` or `__constant__` variable.
template <typename T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, nullptr, place);
}
/// cudaMemcpyToSymbol in stream order.
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t stream = nullptr, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, &stream, place);
}
/// From a `__device__` or `__constant__` variable.
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, nullptr, place);
}
/// cudaMemcpyFromSymbol in stream order.
template <typename T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream = nullptr, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, &stream, place);
}
/// The variable's address in kernels: the same as on the host.
template <typename T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return lockstep::emulator::symbol_address(pointer, &symbol, sizeof(T));
}
template <typename T>
cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  *bytes = sizeof(T);
  return cudaSuccess;
}
