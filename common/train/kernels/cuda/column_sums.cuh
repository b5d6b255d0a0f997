#pragma once
/// @file
/// Sums over rows in two passes: blocks of rows write partial sums, then one thread per column adds them in block
/// order. The division of rows depends only on their number, so every device gets the same bits.
#include "kernels/cuda/packs.cuh"
#include "kernels/types.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Divides R rows over the blocks of a first pass.
struct RowBlocks {
  std::int64_t rows_per_block, blocks;

  /// At most `most` blocks, enough to fill a device several times over.
  RowBlocks(std::int64_t rows, std::int64_t most)
      : rows_per_block(rows <= most ? 1 : blocks_for(rows, most)), blocks(blocks_for(rows, rows_per_block)) {}
};

/// out[c] (+)= sum over block of partial[block * stride + c], c in [0, columns).
void finish_sums(float* out, Write write, const float* partial, std::int64_t blocks, std::int64_t stride,
                 std::int64_t columns, cudaStream_t stream);

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
