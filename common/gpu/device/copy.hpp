#pragma once
/// @file
/// Copies between the host and devices, and between devices.
#include <cstddef>

#include "device/device.hpp"
#include "device/stream.hpp"

namespace lockstep {

/// An address and the device that it belongs to.
struct Place {
  void* data = nullptr;  ///< Null only if nothing is copied.
  Device device = {};
};

/// Copies `bytes`, ordered with the current streams of this thread. Host memory need not be pinned: the copy goes
/// through pinned staging. To a device, the call returns once `from` may be changed; to the host, once the bytes have
/// arrived.
/// @param to     Destination; on one device or on the host it may overlap `from` only if it equals it.
/// @param from   Source; not written.
/// @param bytes  May be 0.
/// @throws CudaError  The copy, or a kernel before it, failed.
void copy_memory(const Place& to, const Place& from, std::size_t bytes);

/// Copies between a device and pinned host memory (Storage::allocate_pinned), or within a device, without blocking the
/// host: both sides must stay unchanged until `stream` has run the copy.
/// @param to      Destination.
/// @param from    Source; not written.
/// @param bytes   May be 0.
/// @param stream  A stream of the device.
void copy_memory_async(void* to, const void* from, std::size_t bytes, const Stream& stream);

/// Sets `bytes` to 0; on a device, in the order of its current stream.
/// @param to  Start of the memory.
void zero_memory(const Place& to, std::size_t bytes);

}  // namespace lockstep
