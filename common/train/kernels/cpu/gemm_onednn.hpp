#pragma once
/// @file
/// Float32 and bfloat16 matrix products on oneDNN. Internal to this module.
#include <string>

#include "kernels/cpu/gemm.hpp"

namespace lockstep::kernels {

/// @pre All sizes are at least 1.
void run_on_onednn(const Gemm<float>& gemm);
/// @pre All sizes are at least 1, and onednn_multiplies_bfloat16().
void run_on_onednn(const Gemm<BFloat16>& gemm);
/// @pre As above.
void run_on_onednn(const Gemm<BFloat16, float>& gemm);

/// Whether this processor has bfloat16 instructions that oneDNN uses (the environment variable ONEDNN_MAX_CPU_ISA may
/// forbid them).
[[nodiscard]] bool onednn_multiplies_bfloat16() noexcept;

/// "oneDNN" and the version in use.
[[nodiscard]] std::string onednn_version();

}  // namespace lockstep::kernels
