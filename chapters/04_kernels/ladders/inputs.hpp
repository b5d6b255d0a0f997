#pragma once
/// @file
/// The arguments of each ladder's functions. All pointers are device memory, from cudaMalloc; all matrices are
/// row-major.
#include <cuda_runtime.h>

struct __nv_bfloat16;  // from cuda_bf16.h, which only tensor core kernels need

namespace lockstep::ladders {

/// Largest grid of the reduction's last rungs: 132 multiprocessors (H100) times 8 blocks of 256 threads.
constexpr int kReductionBlocks = 1056;

/// Scratch of the reduction's last rung.
struct ReductionWorkspace {
  float* partial_sums;        ///< [kReductionBlocks]
  unsigned* finished_blocks;  ///< [1], zero before the first call; each call leaves it zero.
};

/// sum [1] = all values [count]. `count` is 0 or more.
using Reduction = void (*)(float* sum, const float* values, int count, ReductionWorkspace workspace,
                           cudaStream_t stream);

/// Sizes of a matrix product, all 1 or more.
struct ProductSizes {
  int m;  ///< Rows of A and C.
  int n;  ///< Columns of C.
  int k;  ///< The summed dimension.
};

/// c [m, n] = a [m, k] times b [k, n].
using MatrixProduct = void (*)(float* c, const float* a, const float* b, ProductSizes sizes, cudaStream_t stream);

/// c [m, n] = a [m, k] times the transpose of b [n, k], the layout of a linear layer's weight.
using TensorCoreProduct = void (*)(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes,
                                   cudaStream_t stream);

/// out [rows, columns] = the softmax of each row of in [rows, columns]. Both sizes 1 or more.
using Softmax = void (*)(float* out, const float* in, int rows, int columns, cudaStream_t stream);

/// out [columns, rows] = the transpose of in [rows, columns]. Both sizes 1 or more.
using Transpose = void (*)(float* out, const float* in, int rows, int columns, cudaStream_t stream);

/// Updated in place by AdamW: [count] each.
struct AdamWState {
  float* parameters;
  float* first_moments;   ///< Running mean of the gradients.
  float* second_moments;  ///< Running mean of their squares.
};

/// The numbers of one step of AdamW.
struct AdamWStep {
  float learning_rate;
  float beta1;              ///< Decay of the first moment.
  float beta2;              ///< Decay of the second moment.
  float epsilon;            ///< Added to the denominator.
  float weight_decay;       ///< Times the learning rate: the fraction removed from each parameter.
  float first_correction;   ///< 1 - beta1^step: the moments start at zero, and are too small by this factor.
  float second_correction;  ///< 1 - beta2^step.
};

/// One optimizer step. `count` is 1 or more.
using AdamW = void (*)(AdamWState state, const float* gradients, int count, AdamWStep step, cudaStream_t stream);

/// Rows to normalize. Both sizes 1 or more.
struct NormInput {
  const float* values;  ///< [rows, columns]
  const float* weight;  ///< [columns]
  const float* bias;    ///< [columns]
  int rows;
  int columns;
};

/// Added to the variance, as in GPT-2.
constexpr float kNormEpsilon = 1e-5F;

/// out [rows, columns].
using LayerNorm = void (*)(float* out, NormInput in, cudaStream_t stream);

/// Head dimension, fixed so that loops over it can be unrolled.
constexpr int kHeadWidth = 64;

/// 1 / sqrt(kHeadWidth).
constexpr float kScoreScale = 0.125F;

/// Queries, keys and values of several heads. Both sizes 1 or more.
struct AttentionInput {
  const float* q;  ///< [heads, positions, 64]
  const float* k;  ///< [heads, positions, 64]
  const float* v;  ///< [heads, positions, 64]
  int heads;       ///< Of all samples together.
  int positions;   ///< T.
};

/// out [heads, positions, 64]; scores is scratch of [heads, positions, positions].
using Attention = void (*)(float* out, AttentionInput in, float* scores, cudaStream_t stream);

}  // namespace lockstep::ladders
