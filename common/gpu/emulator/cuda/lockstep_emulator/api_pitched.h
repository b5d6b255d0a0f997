#pragma once
/// @file
/// Memory of rows that are a pitch apart, and of slices of such rows.
#include "api_memory.h"
#include "export.h"
#include "runtime_types.h"
#include "source_place.h"

/// Size of a region. Of linear memory the width counts bytes.
struct cudaExtent {
  size_t width;   ///< Bytes of a row.
  size_t height;  ///< Rows of a slice.
  size_t depth;   ///< Slices.
};
/// An offset in a region. Of linear memory x counts bytes.
struct cudaPos {
  size_t x;  ///< In a row.
  size_t y;  ///< Row.
  size_t z;  ///< Slice.
};
/// Memory from cudaMalloc3D, or an array of the host.
struct cudaPitchedPtr {
  void* ptr;     ///< First byte.
  size_t pitch;  ///< Bytes between rows.
  size_t xsize;  ///< Bytes of a row that are used.
  size_t ysize;  ///< Rows of a slice.
};
struct cudaArray;
using cudaArray_t = cudaArray*;  ///< None exists: they belong to textures.

/// For cudaMemcpy3D. Members that are not needed must be 0.
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;   ///< Null.
  cudaPos srcPos;         ///< Where to read.
  cudaPitchedPtr srcPtr;  ///< From.
  cudaArray_t dstArray;   ///< Null.
  cudaPos dstPos;         ///< Where to write.
  cudaPitchedPtr dstPtr;  ///< To.
  cudaExtent extent;      ///< How much.
  cudaMemcpyKind kind;    ///< Direction.
};

inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t xsize, size_t ysize) {
  return {pointer, pitch, xsize, ysize};
}

namespace lockstep::emulator {

/// cudaMallocPitch.
LOCKSTEP_EMULATOR_API cudaError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height,
                                                   SourcePlace place);

}  // namespace lockstep::emulator

/// Memory of the current device for `height` rows of `width` bytes. The pitch is a multiple of 512 bytes.
template <typename T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::allocate_pitched(reinterpret_cast<void**>(pointer), pitch, width, height, place);
}

extern "C" {

/// The same for slices of rows.
LOCKSTEP_EMULATOR_API cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent, LOCKSTEP_EMULATOR_HERE);
/// Sets `width` bytes of each row.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                               LOCKSTEP_EMULATOR_HERE);
/// cudaMemset2D in stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                                    cudaStream_t stream = nullptr, LOCKSTEP_EMULATOR_HERE);
/// Sets the bytes of a region.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent,
                                               LOCKSTEP_EMULATOR_HERE);
/// cudaMemset3D in stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent,
                                                    cudaStream_t stream = nullptr, LOCKSTEP_EMULATOR_HERE);
/// Copies a region, slice by slice.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy, LOCKSTEP_EMULATOR_HERE);
/// cudaMemcpy3D in stream order.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream = nullptr,
                                                    LOCKSTEP_EMULATOR_HERE);

}  // extern "C"
