#pragma once
/// @file
/// Emulation behind common/gpu/device/tensor_core.hpp: tensor-core products, matrix loads, asynchronous copies.
#include <cstddef>
#include <cstdint>

#include "export.h"
#include "source_place.h"

namespace lockstep::emulator {

/// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on a warp's fragments: d[4], a[4], b[2], c[4] of each lane.
LOCKSTEP_EMULATOR_API void mma_m16n8k16_bf16(float* d, const std::uint32_t* a, const std::uint32_t* b, const float* c,
                                             SourcePlace at);
/// The same with mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.
LOCKSTEP_EMULATOR_API void mma_m16n8k16_f16(float* d, const std::uint32_t* a, const std::uint32_t* b, const float* c,
                                            SourcePlace at);
/// How ldmatrix distributes a matrix.
enum class MatrixOrder { kRows, kTransposed };
/// ldmatrix.sync.aligned.m8n8.x1, .x2 or .x4 (`matrices`), .b16. Lane i gives the address of row i % 8 of matrix i / 8.
LOCKSTEP_EMULATOR_API void load_matrix(std::uint32_t* fragments, int matrices, MatrixOrder order, const void* row,
                                       SourcePlace at);
/// cp.async: `bytes` (4, 8 or 16) to shared memory; the first `read_bytes` are read, the others are 0. The copy happens
/// only when the thread waits for it: without a wait, the old contents remain.
LOCKSTEP_EMULATOR_API void copy_async(void* to, const void* from, std::size_t bytes, std::size_t read_bytes,
                                      SourcePlace at);
/// cp.async.commit_group.
LOCKSTEP_EMULATOR_API void copy_async_commit();
/// cp.async.wait_group: completes all committed groups except the `most_pending` latest.
LOCKSTEP_EMULATOR_API void copy_async_wait(unsigned most_pending);

}  // namespace lockstep::emulator
