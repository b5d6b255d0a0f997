#pragma once
/// @file
/// Copies and sets: which memory they touch, whether they may, and how they are put into a stream.
#include <cstddef>
#include <memory>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Who may use memory, and how copies treat it.
enum class MemoryPlace {
  kDevice,    ///< Of cudaMalloc, or a device variable.
  kManaged,   ///< Of cudaMallocManaged.
  kPinned,    ///< Of the host, known to the runtime: copies run while the host goes on.
  kPageable,  ///< Of the host: copies go by way of a buffer, or the host waits.
};

/// Of the address.
MemoryPlace place_of(const void* address);
/// Makes a `__device__` or `__constant__` variable known, which looks like host memory otherwise.
void note_symbol(const void* symbol, std::size_t bytes);
/// The device whose memory it is, or -1.
int device_of(const void* address);
/// The runtime's own address of the same bytes.
std::byte* alias_of(const void* address);

/// A copy of rows that lie a pitch apart; one row where the bytes are contiguous.
struct Transfer {
  const char* name = "";            ///< The call.
  SourcePlace place;                ///< Of the call.
  std::byte* to = nullptr;          ///< First byte written.
  std::size_t to_pitch = 0;         ///< Between rows.
  const std::byte* from = nullptr;  ///< First byte read.
  std::size_t from_pitch = 0;       ///< Between rows.
  std::size_t width = 0;            ///< Bytes of a row.
  std::size_t height = 1;           ///< Rows.
};

/// Whether the host waits.
enum class HostWaits {
  kAsSynchronousCall,   ///< cudaMemcpy: for all but copies between device addresses.
  kAsAsynchronousCall,  ///< cudaMemcpyAsync: for copies to pageable memory.
};

/// Checks a copy and puts it into a stream.
/// @param kind  Its direction must fit the addresses.
/// @throws ApiError  It does not, or a row lies outside its allocation.
void transfer(Transfer copy, cudaMemcpyKind kind, const std::shared_ptr<StreamQueue>& queue, HostWaits waits);

/// Checks a set and puts it into a stream. Parameters as of cudaMemset; waits as it does.
void set_bytes(const char* name, SourcePlace place, void* pointer, int value, std::size_t bytes,
               const std::shared_ptr<StreamQueue>& queue, HostWaits waits);

/// @throws ApiError  The bytes are not all inside one live allocation, where the address is of device or pinned memory.
void require_inside(const void* address, std::size_t bytes);

}  // namespace lockstep::emulator
