#pragma once
/// @file
/// Tensor-core instructions as functions, the same under nvcc (PTX) and on the emulator. Kernels contain no PTX. A
/// fragment is one lane's part of a matrix; the functions describe it with g = lane / 4 and t = lane % 4. A 32-bit
/// register holds two bfloat16 or float16 values, the one of the lower column or row in the lower half.
/// @source NVIDIA, Parallel Thread Execution ISA 8.x, "Warp-level Matrix Instructions", "Data Movement: cp.async".
#include <cuda_runtime.h>

#include <cstdint>

#if !defined(__CUDACC__)
#include <lockstep_emulator/tensor_core.h>
#endif

namespace lockstep::device {

#if defined(__CUDACC__)

/// d = a b + c for a [16, 16] in rows, b [16, 8] in columns, c and d [16, 8]; float32 sums.
/// a[0]: (g, 2t), a[1]: (g + 8, 2t), a[2]: (g, 2t + 8), a[3]: (g + 8, 2t + 8), each with the next column.
/// b[0]: (2t, g), b[1]: (2t + 8, g), each with the next row. c, d: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}
/// As mma_m16n8k16_bf16, for float16 factors.
__device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2], const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

/// Where a pointer points inside of shared memory.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Four 8x8 matrices of 16-bit elements from shared memory. Lane i gives the address of row i % 8 of matrix i / 8 (16
/// bytes, aligned to 16); r[m] holds (g, 2t) and (g, 2t + 1) of matrix m.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
/// As ldmatrix_x4, each matrix transposed: r[m] holds (2t, g) and (2t + 1, g).
__device__ __forceinline__ void ldmatrix_x4_transposed(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
/// Two matrices; lanes 0 to 15 give the addresses.
__device__ __forceinline__ void ldmatrix_x2(std::uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];\n"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
/// As ldmatrix_x2, each matrix transposed.
__device__ __forceinline__ void ldmatrix_x2_transposed(std::uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\n"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
/// One matrix; lanes 0 to 7 give the addresses.
__device__ __forceinline__ void ldmatrix_x1(std::uint32_t (&r)[1], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\n"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
}

/// Starts a copy of 16 bytes from global to shared memory (both aligned to 16) that passes by the registers.
__device__ __forceinline__ void cp_async16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
/// As cp_async16, but only the first `read_bytes` (0 to 16) are read; zeros follow.
__device__ __forceinline__ void cp_async16_zero_fill(void* shared, const void* global, std::uint32_t read_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(read_bytes)
               : "memory");
}
/// Closes a group: the copies that this thread has started since the last one.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
/// Waits until at most `kMostPending` of this thread's groups are under way. Other threads' copies need a barrier too.
template <int kMostPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kMostPending) : "memory");
}

#else

/// d = a b + c for a [16, 16] in rows, b [16, 8] in columns, c and d [16, 8]; float32 sums.
/// a[0]: (g, 2t), a[1]: (g + 8, 2t), a[2]: (g, 2t + 8), a[3]: (g + 8, 2t + 8), each with the next column.
/// b[0]: (2t, g), b[1]: (2t + 8, g), each with the next row. c, d: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
inline void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                              const float (&c)[4], emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::mma_m16n8k16_bf16(d, a, b, c, at);
}
/// As mma_m16n8k16_bf16, for float16 factors.
inline void mma_m16n8k16_f16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                             const float (&c)[4], emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::mma_m16n8k16_f16(d, a, b, c, at);
}
/// Four 8x8 matrices of 16-bit elements from shared memory. Lane i gives the address of row i % 8 of matrix i / 8 (16
/// bytes, aligned to 16); r[m] holds (g, 2t) and (g, 2t + 1) of matrix m.
inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* row,
                        emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::load_matrix(r, 4, emulator::MatrixOrder::kRows, row, at);
}
/// As ldmatrix_x4, each matrix transposed: r[m] holds (2t, g) and (2t + 1, g).
inline void ldmatrix_x4_transposed(std::uint32_t (&r)[4], const void* row,
                                   emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::load_matrix(r, 4, emulator::MatrixOrder::kTransposed, row, at);
}
/// Two matrices; lanes 0 to 15 give the addresses.
inline void ldmatrix_x2(std::uint32_t (&r)[2], const void* row,
                        emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::load_matrix(r, 2, emulator::MatrixOrder::kRows, row, at);
}
/// As ldmatrix_x2, each matrix transposed.
inline void ldmatrix_x2_transposed(std::uint32_t (&r)[2], const void* row,
                                   emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::load_matrix(r, 2, emulator::MatrixOrder::kTransposed, row, at);
}
/// One matrix; lanes 0 to 7 give the addresses.
inline void ldmatrix_x1(std::uint32_t (&r)[1], const void* row,
                        emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::load_matrix(r, 1, emulator::MatrixOrder::kRows, row, at);
}
/// Starts a copy of 16 bytes from global to shared memory (both aligned to 16) that passes by the registers.
inline void cp_async16(void* shared, const void* global, emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::copy_async(shared, global, 16, 16, at);
}
/// As cp_async16, but only the first `read_bytes` (0 to 16) are read; zeros follow.
inline void cp_async16_zero_fill(void* shared, const void* global, std::uint32_t read_bytes,
                                 emulator::SourcePlace at = emulator::SourcePlace::here()) {
  emulator::copy_async(shared, global, 16, read_bytes, at);
}
/// Closes a group: the copies that this thread has started since the last one.
inline void cp_async_commit() { emulator::copy_async_commit(); }
/// Waits until at most `kMostPending` of this thread's groups are under way. Other threads' copies need a barrier too.
template <int kMostPending>
void cp_async_wait() {
  emulator::copy_async_wait(kMostPending);
}

#endif

}  // namespace lockstep::device
