// Dropout with recomputed masks: nothing is stored. Backward is the same function of the gradient.
// Letters: B samples; a sample's elements are decided in groups of 64 (kernels/cuda/random.cuh). The tensor has `count`
// elements of each, beginning anywhere (kernels/dropout_rows.hpp).
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kThreads = 256;  // each decides 4 elements
constexpr std::int64_t kElements = 4 * kThreads;

/// out = residual + thinned(input); residual may be null.
///
/// Launch: (blocks_for(count, kElements), B up to 65535, more by a loop) blocks of kThreads; `count` is that of the
/// largest part, plus one group if parts need not begin with a group. A thread takes one Philox block and the four
/// elements that it decides. They are 16 apart: half a warp reads 16 neighbours at a time, whole sectors of 32 bytes
/// for float32 and bfloat16 alike. Traffic: each operand once.
/// @source Srivastava et al., J. Mach. Learn. Res. 15, 2014 (inverted form).
template <typename S>
__global__ void __launch_bounds__(kThreads)
    drop_elements(S* out, const S* input, const S* residual, DropoutRule rule, DropoutRows rows) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t n = thread % 16;
  for (std::int64_t index = blockIdx.y; index < rows.parts(); index += gridDim.y) {
    const DropoutPart part = rows.part(index);
    const std::int64_t group = part.first / 64 + thread / 16;
    if (64 * group + n - part.first >= part.count) continue;
    std::uint32_t words[4];
    dropout_words(words, rule, static_cast<std::uint64_t>(rule.sample_ids[part.sample]),
                  static_cast<std::uint64_t>(group), static_cast<std::uint32_t>(n));
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const std::int64_t element = 64 * group + 16 * w + n - part.first, i = part.begin + element;
      if (element >= part.count) break;
      if (element < 0) continue;  // elements of the first group before the part
      const float kept = residual == nullptr ? 0.0F : widened(residual[i]);
      out[i] = narrowed<S>(kept + thinned(widened(input[i]), factor_of(rule, words[w])));
    }
  }
}

DropoutRows whole_samples(std::int64_t count, const Dropout& mask) {
  return {.rows = mask.samples,
          .columns = count / mask.samples,
          .first_row = 0,
          .rows_per_sample = 1,
          .first_element = mask.first_element};
}

}  // namespace

void dropout_forward(Array out, ConstArray input, const Dropout& mask, ConstArray residual, Context context) {
  if (out.count() == 0) return;
  if (!mask.is_active()) {
    return residual.is_defined() ? add(out, residual, input, context) : copy(out, input, context);
  }
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const DropoutRows rows = mask.rows.rows > 0 ? mask.rows : whole_samples(out.count(), mask);
    const bool may_begin_within = rows.rows_per_sample > 1 || rows.first_element % 64 != 0;
    const std::int64_t count = rows.largest_count() + (may_begin_within ? 63 : 0), parts = rows.parts();
    const dim3 grid(static_cast<unsigned int>(blocks_for(count, kElements)),
                    static_cast<unsigned int>(parts < 65535 ? parts : 65535));
    cuda_check(launch(drop_elements<S>, grid, dim3(kThreads), 0, context.stream, out.as<S>(), input.as<S>(),
                      residual.as<S>(), rule_of(mask), rows));
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
