#pragma once
/// @file
/// Hopper's own instructions as functions, the same under nvcc (PTX for sm_90a) and on the emulator: barriers with
/// phases (mbarrier), copies of whole tiles (TMA), and products that 128 threads start and wait for (wgmma). Compiled
/// for another architecture, the device functions trap.
///
/// A tile is `rows` x 64 bfloat16 in shared memory, 128 bytes a row, at an address that is a multiple of 1024. Its
/// groups of 16 bytes are swizzled: group i of row r is at place i ^ (r % 8) of that row.
/// @source NVIDIA, Parallel Thread Execution ISA 8.x, "mbarrier", "cp.async.bulk.tensor", "Tensor swizzling modes",
///         "Asynchronous Warpgroup Level Matrix Instructions".
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda.h>

#include <stdexcept>
#include <string>
#else
#include <lockstep_emulator/hopper.h>
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LOCKSTEP_HOPPER_PTX(...) asm volatile(__VA_ARGS__)
#else
#define LOCKSTEP_HOPPER_PTX(...) __trap()
#endif

namespace lockstep::device {

/// Columns of a tile.
inline constexpr int kTileColumns = 64;

/// An mbarrier: a `__shared__` variable. It counts arrivals and bytes; when both are complete, a phase ends and the
/// next begins. Phases are numbered 0, 1, 0, 1 ...
struct alignas(8) PhaseBarrier {
  std::uint64_t state;  ///< Only the functions below may use it.
};

#if defined(__CUDACC__)

/// Where a matrix of bfloat16 is, and how tiles are cut from it. A kernel's parameter, as
/// `const __grid_constant__ TileMap`.
struct TileMap {
  CUtensorMap map;  ///< For the TMA unit.
};

/// For tiles of `tile_rows` (at most 256) rows of a matrix [rows, columns].
/// @param matrix  Device memory, aligned to 16 bytes. @param columns  A multiple of 8.
/// @throws std::runtime_error  The driver has no tensor maps or refuses this one.
inline TileMap make_tile_map(const __nv_bfloat16* matrix, int rows, int columns, int tile_rows) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || entry == nullptr) {
    throw std::runtime_error("make_tile_map: this driver has no cuTensorMapEncodeTiled (CUDA 12 or later has it)");
  }
  TileMap made;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes[1] = {sizes[0] * sizeof(__nv_bfloat16)};
  const cuuint32_t box[2] = {kTileColumns, static_cast<cuuint32_t>(tile_rows)}, steps[2] = {1, 1};
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry)(
      &made.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<__nv_bfloat16*>(matrix), sizes, row_bytes, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("make_tile_map: cuTensorMapEncodeTiled refuses [" + std::to_string(rows) + ", " +
                             std::to_string(columns) + "] in tiles of " + std::to_string(tile_rows) + " rows (status " +
                             std::to_string(result) + "): the address must be a multiple of 16, the columns of 8");
  }
  return made;
}

/// Where a pointer points inside of shared memory.
__device__ __forceinline__ std::uint32_t address_in_shared(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Prepares a barrier for phases of `arrivals` arrivals each. By one thread; then fence_async_proxy(), then a barrier
/// of the block before others use it.
__device__ __forceinline__ void init_barrier(PhaseBarrier& barrier, unsigned arrivals) {
  LOCKSTEP_HOPPER_PTX("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(address_in_shared(&barrier)), "r"(arrivals)
                      : "memory");
}
/// Lets tile copies and products see what this thread has written to shared memory by ordinary stores.
__device__ __forceinline__ void fence_async_proxy() {
  LOCKSTEP_HOPPER_PTX("fence.proxy.async.shared::cta;\n" ::: "memory");
}
/// Counts an arrival of this thread.
__device__ __forceinline__ void arrive(PhaseBarrier& barrier) {
  LOCKSTEP_HOPPER_PTX("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(address_in_shared(&barrier)) : "memory");
}
/// Counts an arrival, and lets the phase wait for `bytes` more that copies bring.
__device__ __forceinline__ void arrive_expecting(PhaseBarrier& barrier, unsigned bytes) {
  LOCKSTEP_HOPPER_PTX("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(address_in_shared(&barrier)),
                      "r"(bytes)
                      : "memory");
}
/// Waits until the phase of this parity (0 for the first) has ended. It returns at once if the phase before the current
/// one has this parity: a wait may be one phase late, not two.
__device__ __forceinline__ void wait_for_phase(PhaseBarrier& barrier, unsigned parity) {
  LOCKSTEP_HOPPER_PTX(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(address_in_shared(&barrier)),
      "r"(parity)
      : "memory");
}

/// Starts the copy of the tile that begins at (row, column) of the map's matrix; zeros lie beyond the matrix. One
/// thread starts it for all. Its bytes, 128 for every row of the tile, count for the current phase of `barrier`.
__device__ __forceinline__ void copy_tile(void* tile, const TileMap& map, int row, int column, PhaseBarrier& barrier) {
  LOCKSTEP_HOPPER_PTX(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];\n" ::"r"(address_in_shared(tile)),
      "l"(reinterpret_cast<std::uint64_t>(&map.map)), "r"(column), "r"(row), "r"(address_in_shared(&barrier))
      : "memory");
}

/// Before the first product, and again whenever the sums were used in between.
__device__ __forceinline__ void wgmma_fence() { LOCKSTEP_HOPPER_PTX("wgmma.fence.sync.aligned;\n" ::: "memory"); }

/// The descriptor of a slice of 16 columns of a swizzled tile: its address, 1024 bytes from 8 rows to the next 8, the
/// 128-byte swizzle. The offset between slices of 64 columns (bits 16 to 29) is not used with this swizzle.
__device__ __forceinline__ std::uint64_t slice_descriptor(const void* slice) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62U, kUnusedOffset = std::uint64_t{1} << 16U;
  constexpr std::uint64_t kEightRows = std::uint64_t{1024 / 16} << 32U;
  return kSwizzle128 | kEightRows | kUnusedOffset | (address_in_shared(slice) & 0x3ffffU) / 16;
}

/// Starts d += a b^T for a slice of 16 columns of a 64-row tile and one of a 128-row tile. All 128 threads of a
/// warpgroup (threads 128 i to 128 i + 127) call it together. Until the wait, d must not be used and the tiles not be
/// changed.
/// @param d  d[4 j + i] of lane 4 g + t of warp w: row 16 w + g + i / 2 * 8, column 8 j + 2 t + i % 2.
/// @param a  The tile's address plus 0, 32, 64 or 96 bytes. @param b  Likewise.
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], const void* a, const void* b) {
  LOCKSTEP_HOPPER_PTX(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
      " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
      " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
      " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(slice_descriptor(a)), "l"(slice_descriptor(b))
      : "memory");
}
/// Closes a group: the products that this warpgroup has started since the last one.
__device__ __forceinline__ void wgmma_commit() {
  LOCKSTEP_HOPPER_PTX("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
/// Waits until at most `kMostPending` groups are under way. With 0, d may be used again.
template <int kMostPending>
__device__ __forceinline__ void wgmma_wait(float (&d)[64]) {
  LOCKSTEP_HOPPER_PTX("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kMostPending) : "memory");
  if constexpr (kMostPending == 0) {
#pragma unroll
    for (float& sum : d) asm volatile("" : "+f"(sum)::"memory");  // no use of d moves up before the wait
  }
}

#else

/// Where a matrix of bfloat16 is, and how tiles are cut from it. A kernel's parameter, as
/// `const __grid_constant__ TileMap`.
using TileMap = emulator::TileMap;

/// For tiles of `tile_rows` (at most 256) rows of a matrix [rows, columns].
/// @param matrix  Device memory, aligned to 16 bytes. @param columns  A multiple of 8.
inline TileMap make_tile_map(const __nv_bfloat16* matrix, int rows, int columns, int tile_rows) {
  return emulator::make_tile_map(matrix, rows, columns, tile_rows);
}
/// Prepares a barrier for phases of `arrivals` arrivals each. By one thread; then fence_async_proxy(), then a barrier
/// of the block before others use it.
inline void init_barrier(PhaseBarrier& barrier, unsigned arrivals,
                         emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::init_phase_barrier(&barrier, arrivals, at);
}
/// Lets tile copies and products see what this thread has written to shared memory by ordinary stores.
inline void fence_async_proxy() { emulator::fence_async_proxy(); }
/// Counts an arrival of this thread.
inline void arrive(PhaseBarrier& barrier, emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::arrive_at_phase_barrier(&barrier, 0, at);
}
/// Counts an arrival, and lets the phase wait for `bytes` more that copies bring.
inline void arrive_expecting(PhaseBarrier& barrier, unsigned bytes,
                             emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::arrive_at_phase_barrier(&barrier, bytes, at);
}
/// Waits until the phase of this parity (0 for the first) has ended. It returns at once if the phase before the current
/// one has this parity: a wait may be one phase late, not two.
inline void wait_for_phase(PhaseBarrier& barrier, unsigned parity,
                           emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::wait_at_phase_barrier(&barrier, parity, at);
}
/// Starts the copy of the tile that begins at (row, column) of the map's matrix; zeros lie beyond the matrix. One
/// thread starts it for all. Its bytes, 128 for every row of the tile, count for the current phase of `barrier`.
inline void copy_tile(void* tile, const TileMap& map, int row, int column, PhaseBarrier& barrier,
                      emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::copy_tile(tile, map, row, column, &barrier, at);
}
/// Before the first product, and again whenever the sums were used in between.
inline void wgmma_fence() { emulator::wgmma_fence(); }
/// Starts d += a b^T for a slice of 16 columns of a 64-row tile and one of a 128-row tile. All 128 threads of a
/// warpgroup (threads 128 i to 128 i + 127) call it together. Until the wait, d must not be used and the tiles not be
/// changed.
/// @param d  d[4 j + i] of lane 4 g + t of warp w: row 16 w + g + i / 2 * 8, column 8 j + 2 t + i % 2.
/// @param a  The tile's address plus 0, 32, 64 or 96 bytes. @param b  Likewise.
inline void wgmma_m64n128k16(float (&d)[64], const void* a, const void* b,
                             emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::wgmma_m64n128k16(d, a, b, at);
}
/// Closes a group: the products that this warpgroup has started since the last one.
inline void wgmma_commit() { emulator::wgmma_commit(); }
/// Waits until at most `kMostPending` groups are under way. With 0, d may be used again.
template <int kMostPending>
void wgmma_wait(float (&)[64]) {
  emulator::wgmma_wait(kMostPending);
}

#endif

}  // namespace lockstep::device
