#pragma once
/// @file
/// Float32 matrix products on oneDNN. Private to the module.
#include "kernels/cpu/gemm.hpp"

namespace lockstep::kernels {

/// @pre All sizes are at least 1.
void run_on_onednn(const Gemm<float>& gemm);

}  // namespace lockstep::kernels
