// Rows that are a pitch apart: each slice of a region is a copy or set of rows.
#include "emulator/cuda/lockstep_emulator/api_pitched.h"

#include <cstddef>
#include <limits>
#include <vector>

#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/transfer.hpp"

namespace {

using namespace lockstep::emulator;

// A multiple of what any access of a warp needs.
constexpr std::size_t kPitchBytes = 512;

constexpr std::size_t kTooMuch = std::numeric_limits<std::size_t>::max();  // more than any device has

// 0 if there is no such number.
std::size_t pitch_of(std::size_t width) {
  return width > kTooMuch - kPitchBytes ? 0 : (width + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
}

// The bytes to allocate, or kTooMuch.
std::size_t region_bytes(std::size_t width, std::size_t height, std::size_t depth) {
  const std::size_t pitch = pitch_of(width);
  std::size_t slice = 0, all = 0;
  const bool is_too_much = (pitch == 0 && width > 0) || __builtin_mul_overflow(pitch, height, &slice) ||
                           __builtin_mul_overflow(slice, depth, &all);
  return is_too_much ? kTooMuch : all;
}

std::byte* slice_of(const cudaPitchedPtr& memory, const cudaPos& at, std::size_t slice) {
  return static_cast<std::byte*>(memory.ptr) + ((at.z + slice) * memory.ysize + at.y) * memory.pitch + at.x;
}

// @throws ApiError  The last slice has no address.
void require_slices(const cudaPitchedPtr& memory, const cudaPos& at, std::size_t depth) {
  std::size_t slices = 0, rows = 0, bytes = 0;
  const bool is_too_much =
      __builtin_add_overflow(at.z, depth - 1, &slices) || __builtin_mul_overflow(slices, memory.ysize, &rows) ||
      __builtin_add_overflow(rows, at.y, &rows) || __builtin_mul_overflow(rows, memory.pitch, &bytes) ||
      __builtin_add_overflow(bytes, at.x, &bytes) ||
      __builtin_add_overflow(bytes, reinterpret_cast<std::size_t>(memory.ptr), &bytes);
  api_require(!is_too_much, cudaErrorInvalidValue, "the slices reach beyond all addresses: is a size negative?");
}

bool is_empty(const cudaExtent& extent) { return extent.width == 0 || extent.height == 0 || extent.depth == 0; }

// Checks all slices before the first is copied: a call that is refused has copied nothing.
cudaError_t copy_region(const char* name, SourcePlace place, const cudaMemcpy3DParms* copy, cudaStream_t stream,
                        HostWaits waits) {
  return api_call(name, ApiNeeds::kWorkingDevice, [&] {
    api_require(copy != nullptr, cudaErrorInvalidValue, "the pointer to the parameters is null");
    api_require(copy->srcArray == nullptr && copy->dstArray == nullptr, cudaErrorInvalidValue,
                "the emulator has no CUDA arrays");
    const auto queue = Handles::instance().queue(stream);
    if (is_empty(copy->extent)) return;
    require_slices(copy->dstPtr, copy->dstPos, copy->extent.depth);
    require_slices(copy->srcPtr, copy->srcPos, copy->extent.depth);
    const auto part = [&](std::size_t slice) {
      return Transfer{name,
                      place,
                      slice_of(copy->dstPtr, copy->dstPos, slice),
                      copy->dstPtr.pitch,
                      slice_of(copy->srcPtr, copy->srcPos, slice),
                      copy->srcPtr.pitch,
                      copy->extent.width,
                      copy->extent.height};
    };
    for (std::size_t slice = 0; slice < copy->extent.depth; ++slice) require_transfer(part(slice), copy->kind);
    std::vector<Transfer> parts;
    for (std::size_t slice = 0; slice < copy->extent.depth; ++slice) parts.push_back(part(slice));
    transfer_parts(parts, queue, waits);
  });
}

cudaError_t set_region(const char* name, SourcePlace place, const cudaPitchedPtr& memory, int value,
                       const cudaExtent& extent, cudaStream_t stream, HostWaits waits) {
  return api_call(name, ApiNeeds::kWorkingDevice, [&] {
    const auto queue = Handles::instance().queue(stream);
    if (is_empty(extent)) return;
    require_slices(memory, {}, extent.depth);
    for (std::size_t slice = 0; slice < extent.depth; ++slice) {
      require_rows(slice_of(memory, {}, slice), memory.pitch, extent.width, extent.height);
    }
    for (std::size_t slice = 0; slice < extent.depth; ++slice) {
      set_rows(name, place, slice_of(memory, {}, slice), memory.pitch, value, extent.width, extent.height, queue,
               waits);
    }
  });
}

}  // namespace

cudaError_t lockstep::emulator::allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height,
                                                 SourcePlace place) {
  if (pitch == nullptr) {
    return api_call("cudaMallocPitch", ApiNeeds::kWorkingDevice, [] {
      throw ApiError{cudaErrorInvalidValue, "the pointer to the pitch is null"};
    });
  }
  *pitch = pitch_of(width);
  return allocate_device(pointer, region_bytes(width, height, 1), place);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent, SourcePlace place) {
  if (memory == nullptr) {
    return api_call("cudaMalloc3D", ApiNeeds::kWorkingDevice, [] {
      throw ApiError{cudaErrorInvalidValue, "the pointer to the result is null"};
    });
  }
  *memory = {nullptr, pitch_of(extent.width), extent.width, extent.height};
  return allocate_device(&memory->ptr, region_bytes(extent.width, extent.height, extent.depth), place);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height, SourcePlace place) {
  return set_region("cudaMemset2D", place, {pointer, pitch, width, height}, value, {width, height, 1}, nullptr,
                    HostWaits::kAsSynchronousCall);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                              SourcePlace place) {
  return set_region("cudaMemset2DAsync", place, {pointer, pitch, width, height}, value, {width, height, 1}, stream,
                    HostWaits::kAsAsynchronousCall);
}

cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent, SourcePlace place) {
  return set_region("cudaMemset3D", place, memory, value, extent, nullptr, HostWaits::kAsSynchronousCall);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream,
                              SourcePlace place) {
  return set_region("cudaMemset3DAsync", place, memory, value, extent, stream, HostWaits::kAsAsynchronousCall);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy, SourcePlace place) {
  return copy_region("cudaMemcpy3D", place, copy, nullptr, HostWaits::kAsSynchronousCall);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream, SourcePlace place) {
  return copy_region("cudaMemcpy3DAsync", place, copy, stream, HostWaits::kAsAsynchronousCall);
}
