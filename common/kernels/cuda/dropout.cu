// Dropout with recomputed masks: nothing is stored. Backward is the same function of the gradient.
// Letters: B samples; a sample has `count` elements in groups of 64 (kernels/cuda/random.cuh).
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

/// out = residual + thinned(input) [B, count]; residual may be null.
///
/// Launch: (blocks_for(count, kElements), B up to 65535, more by a loop) blocks of kThreads. A thread takes one Philox
/// block and the four elements that it decides. They lie 16 apart: half a warp reads 16 neighbours at a time, whole
/// sectors of 32 bytes for float32 and bfloat16 alike. Traffic: what is read and written, once.
/// @source Srivastava et al., J. Mach. Learn. Res. 15, 2014 (inverted form).
template <typename S>
__global__ void __launch_bounds__(kThreads) drop_elements(S* out, const S* input, const S* residual, DropoutRule rule,
                                                          std::int64_t samples, std::int64_t count) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t group = thread / 16, n = thread % 16;
  if (64 * group + n >= count) return;
  for (std::int64_t sample = blockIdx.y; sample < samples; sample += gridDim.y) {
    std::uint32_t words[4];
    dropout_words(words, rule, static_cast<std::uint64_t>(rule.sample_ids[sample]), static_cast<std::uint64_t>(group),
                  static_cast<std::uint32_t>(n));
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const std::int64_t element = 64 * group + 16 * w + n, i = sample * count + element;
      if (element >= count) break;
      const float kept = residual == nullptr ? 0.0F : widened(residual[i]);
      out[i] = narrowed<S>(kept + thinned(widened(input[i]), factor_of(rule, words[w])));
    }
  }
}

}  // namespace

void dropout_forward(Array out, Array input, const DeviceDropout& mask, Array residual, Context context) {
  if (out.count() == 0) return;
  if (!mask.is_active()) {
    if (residual.is_defined()) return add(out, residual, input, context);
    const std::size_t bytes = static_cast<std::size_t>(out.count()) * bytes_of(out.dtype);
    return cuda_check(cudaMemcpyAsync(out.data, input.data, bytes, cudaMemcpyDeviceToDevice, context.stream));
  }
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const std::int64_t count = out.count() / mask.samples;
    const dim3 grid(static_cast<unsigned int>(blocks_for(count, kElements)),
                    static_cast<unsigned int>(mask.samples < 65535 ? mask.samples : 65535));
    cuda_check(launch(drop_elements<S>, grid, dim3(kThreads), 0, context.stream, out.as<S>(),
                      static_cast<const S*>(input.data), static_cast<const S*>(residual.data), rule_of(mask),
                      mask.samples, count));
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
