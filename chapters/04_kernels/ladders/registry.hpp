#pragma once
/// @file
/// All rungs of all ladders: the single list for the program `ladder`, the tests and the lesson's table.
#include "inputs.hpp"
#include "rung.hpp"

namespace lockstep::ladders {

/// The ladders of one compiled copy of the kernels; each member is named after its folder.
struct Registry {
  Ladder<Reduction> reduction;
  Ladder<MatrixProduct> matrix_product;
  Ladder<Softmax> softmax;
  Ladder<AdamW> adamw;
  Ladder<Transpose> transpose;
  Ladder<LayerNorm> layer_norm;
  Ladder<Attention> flash_attention;
  Ladder<TensorCoreProduct> tensor_cores;
};

inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace reduction {
void one_atomic_per_thread(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t);
void divergent_tree(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t);
void sequential_tree(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t);
void warp_shuffles(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t);
void grid_stride_float4(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t);
void single_pass(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t);

/// From one atomic per value to one pass without floating-point atomics.
inline constexpr Rung<Reduction> kRungs[] = {
    {"one_atomic_per_thread", one_atomic_per_thread, Requirement::kNone, "nothing: the start"},
    {"divergent_tree", divergent_tree, Requirement::kNone, "255 of 256 atomics"},
    {"sequential_tree", sequential_tree, Requirement::kNone, "half-empty warps"},
    {"warp_shuffles", warp_shuffles, Requirement::kNone, "8 of 9 barriers, shared memory traffic"},
    {"grid_stride_float4", grid_stride_float4, Requirement::kNone, "a tree per 256 values; 3 of 4 load instructions"},
    {"single_pass", single_pass, Requirement::kNone, "atomic float additions, a second launch"},
};
}  // namespace reduction

namespace matrix_product {
void uncoalesced(float* c, const float* a, const float* b, ProductSizes, cudaStream_t);
void coalesced(float* c, const float* a, const float* b, ProductSizes, cudaStream_t);
void shared_tile(float* c, const float* a, const float* b, ProductSizes, cudaStream_t);
void register_tile(float* c, const float* a, const float* b, ProductSizes, cudaStream_t);
void vectorised(float* c, const float* a, const float* b, ProductSizes, cudaStream_t);
void double_buffered(float* c, const float* a, const float* b, ProductSizes, cudaStream_t);

/// From a thread per element to double-buffered tiles.
inline constexpr Rung<MatrixProduct> kRungs[] = {
    {"uncoalesced", uncoalesced, Requirement::kNone, "nothing: the start"},
    {"coalesced", coalesced, Requirement::kNone, "sectors fetched for one float"},
    {"shared_tile", shared_tile, Requirement::kNone, "31 of 32 reads of device memory"},
    {"register_tile", register_tile, Requirement::kNone, "7 of 8 reads of shared memory"},
    {"vectorised", vectorised, Requirement::kMultiplesOf4, "3 of 4 load instructions, bank conflicts"},
    {"double_buffered", double_buffered, Requirement::kMultiplesOf4, "waiting for device memory"},
};
}  // namespace matrix_product

namespace softmax {
void three_passes(float* out, const float* in, int rows, int columns, cudaStream_t);
void warp_per_row(float* out, const float* in, int rows, int columns, cudaStream_t);
void online(float* out, const float* in, int rows, int columns, cudaStream_t);
void vectorised(float* out, const float* in, int rows, int columns, cudaStream_t);
void row_in_registers(float* out, const float* in, int rows, int columns, cudaStream_t);

/// From a thread per row to a row in the registers of a warp.
inline constexpr Rung<Softmax> kRungs[] = {
    {"three_passes", three_passes, Requirement::kNone, "nothing: the start"},
    {"warp_per_row", warp_per_row, Requirement::kNone, "28 of 32 sectors per request"},
    {"online", online, Requirement::kNone, "one of three reads"},
    {"vectorised", vectorised, Requirement::kMultiplesOf4, "3 of 4 load and store instructions"},
    {"row_in_registers", row_in_registers, Requirement::kShortRows, "the second read"},
};
}  // namespace softmax

namespace adamw {
void four_kernels(AdamWState, const float* gradients, int count, AdamWStep, cudaStream_t);
void fused(AdamWState, const float* gradients, int count, AdamWStep, cudaStream_t);
void vectorised(AdamWState, const float* gradients, int count, AdamWStep, cudaStream_t);

/// From a kernel per line of the formula to one kernel.
inline constexpr Rung<AdamW> kRungs[] = {
    {"four_kernels", four_kernels, Requirement::kNone, "nothing: the start"},
    {"fused", fused, Requirement::kNone, "20 of 48 bytes per parameter, three launches"},
    {"vectorised", vectorised, Requirement::kNone, "3 of 4 load and store instructions"},
};
}  // namespace adamw

namespace transpose {
void naive(float* out, const float* in, int rows, int columns, cudaStream_t);
void tile(float* out, const float* in, int rows, int columns, cudaStream_t);
void padded(float* out, const float* in, int rows, int columns, cudaStream_t);
void swizzled(float* out, const float* in, int rows, int columns, cudaStream_t);

/// From scattered stores to a tile without conflicts.
inline constexpr Rung<Transpose> kRungs[] = {
    {"naive", naive, Requirement::kNone, "nothing: the start"},
    {"tile", tile, Requirement::kNone, "uncoalesced stores"},
    {"padded", padded, Requirement::kNone, "bank conflicts"},
    {"swizzled", swizzled, Requirement::kNone, "the padding"},
};
}  // namespace transpose

namespace layer_norm {
void thread_per_row(float* out, NormInput, cudaStream_t);
void warp_per_row(float* out, NormInput, cudaStream_t);
void row_in_registers(float* out, NormInput, cudaStream_t);

/// From a thread per row to a row in the registers of a warp.
inline constexpr Rung<LayerNorm> kRungs[] = {
    {"thread_per_row", thread_per_row, Requirement::kNone, "nothing: the start"},
    {"warp_per_row", warp_per_row, Requirement::kNone, "28 of 32 sectors per request"},
    {"row_in_registers", row_in_registers, Requirement::kShortRows, "two of three reads"},
};
}  // namespace layer_norm

namespace flash_attention {
void scores_in_memory(float* out, AttentionInput, float* scores, cudaStream_t);
void online_row(float* out, AttentionInput, float* scores, cudaStream_t);
void shared_tiles(float* out, AttentionInput, float* scores, cudaStream_t);

/// From three kernels to one that keeps no scores.
inline constexpr Rung<Attention> kRungs[] = {
    {"scores_in_memory", scores_in_memory, Requirement::kNone, "nothing: the start"},
    {"online_row", online_row, Requirement::kNone, "the scores in memory"},
    {"shared_tiles", shared_tiles, Requirement::kNone, "63 of 64 reads of keys and values"},
};
}  // namespace flash_attention

namespace tensor_cores {
void fragments_from_memory(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes, cudaStream_t);
void shared_fragments(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes, cudaStream_t);
void asynchronous_copies(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes, cudaStream_t);
void whole_tiles(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes, cudaStream_t);

/// From one matrix instruction per warp to tiles that arrive while others are multiplied.
inline constexpr Rung<TensorCoreProduct> kRungs[] = {
    {"fragments_from_memory", fragments_from_memory, Requirement::kMultiplesOf8, "nothing: the start"},
    {"shared_fragments", shared_fragments, Requirement::kMultiplesOf8, "7 of 8 reads of device memory"},
    {"asynchronous_copies", asynchronous_copies, Requirement::kMultiplesOf8, "waiting for device memory"},
#ifndef LOCKSTEP_WITHOUT_SM90A
    {"whole_tiles", whole_tiles, Requirement::kHopper, "addresses per 16 bytes, registers of operands"},
#endif
};
}  // namespace tensor_cores

/// The rungs of this copy.
const Registry& registry();

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::ladders
