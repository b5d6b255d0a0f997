#pragma once
/// @file
/// Copies between the host and devices, and between devices.
#include <cstddef>

#include "device/device.hpp"
#include "device/stream.hpp"

namespace lockstep {

/// An address and the device that it belongs to.
struct Place {
  void* data = nullptr;  ///< Null only where nothing is copied.
  Device device = {};    ///< Where `data` lives.
};

/// Copies `bytes` in the order of the streams that are current on this thread. Host memory may be any: it travels
/// through pinned staging. To a device, the call returns as soon as `from` may be changed; to the host, when the bytes
/// are there.
/// @param to     Where to; on one device or on the host it may overlap `from` only if it equals it.
/// @param from   Where from; not written.
/// @param bytes  May be 0.
/// @throws CudaError  The copy failed, or a kernel before it.
void copy_memory(const Place& to, const Place& from, std::size_t bytes);

/// Copies between a device and pinned host memory (Storage::allocate_pinned), or within a device, without blocking the
/// host: both sides must stay as they are until `stream` has come past it.
/// @param to      Where to.
/// @param from    Where from; not written.
/// @param bytes   May be 0.
/// @param stream  Of the device.
void copy_memory_async(void* to, const void* from, std::size_t bytes, const Stream& stream);

/// Sets `bytes` to 0; on a device in the order of its current stream.
/// @param to  Where.
void zero_memory(const Place& to, std::size_t bytes);

}  // namespace lockstep
