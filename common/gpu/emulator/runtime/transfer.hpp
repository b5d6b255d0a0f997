#pragma once
/// @file
/// Copies and sets: which memory they touch, whether it is allowed, and how they are issued to a stream.
#include <cstddef>
#include <memory>
#include <vector>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Kinds of memory for copies.
enum class MemoryPlace {
  kDevice,    ///< From cudaMalloc, or a device variable.
  kManaged,   ///< From cudaMallocManaged.
  kPinned,    ///< Host memory known to the runtime: the host continues during copies.
  kPageable,  ///< Other host memory: copies use a buffer, or the host waits.
};

MemoryPlace place_of(const void* address);
/// Registers a `__device__` or `__constant__` variable, which otherwise looks like host memory.
void note_symbol(const void* symbol, std::size_t bytes);
/// The device that the memory belongs to, or -1.
int device_of(const void* address);
/// The runtime's own address of the same bytes.
std::byte* alias_of(const void* address);

/// A copy of rows that are a pitch apart; one row if the bytes are contiguous.
struct Transfer {
  const char* name = "";  ///< Name of the API call.
  SourcePlace place;
  std::byte* to = nullptr;          ///< First byte written.
  std::size_t to_pitch = 0;         ///< Between rows.
  const std::byte* from = nullptr;  ///< First byte read.
  std::size_t from_pitch = 0;       ///< Between rows.
  std::size_t width = 0;            ///< Bytes of a row.
  std::size_t height = 1;           ///< Rows.
};

/// In which copies the host waits.
enum class HostWaits {
  kAsSynchronousCall,   ///< cudaMemcpy: all except those between device addresses.
  kAsAsynchronousCall,  ///< cudaMemcpyAsync: those to pageable memory.
};

/// The checks of transfer() alone: for copies of several parts, none of which may run if one is refused.
void require_transfer(const Transfer& copy, cudaMemcpyKind kind);

/// Checks a copy and issues it to a stream.
/// @param kind  Must match the addresses.
/// @throws ApiError  It does not, or a row lies outside its allocation.
void transfer(const Transfer& copy, cudaMemcpyKind kind, const std::shared_ptr<StreamQueue>& queue, HostWaits waits);

/// Issues copies as one operation. @pre  Each has passed require_transfer() and is not empty.
void transfer_parts(const std::vector<Transfer>& parts, const std::shared_ptr<StreamQueue>& queue, HostWaits waits);

/// The checks of set_rows() alone.
void require_rows(const void* pointer, std::size_t pitch, std::size_t width, std::size_t height);

/// Checks a set and issues it to a stream. Parameters and waiting as in cudaMemset.
void set_bytes(const char* name, SourcePlace place, void* pointer, int value, std::size_t bytes,
               const std::shared_ptr<StreamQueue>& queue, HostWaits waits);

/// The same for `height` rows of `width` bytes that are a pitch apart.
void set_rows(const char* name, SourcePlace place, void* pointer, std::size_t pitch, int value, std::size_t width,
              std::size_t height, const std::shared_ptr<StreamQueue>& queue, HostWaits waits);

/// @throws ApiError  The address is of device or pinned memory, but the bytes are not all inside one live allocation.
void require_inside(const void* address, std::size_t bytes);

}  // namespace lockstep::emulator
