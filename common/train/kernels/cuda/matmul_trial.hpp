#pragma once
/// @file
/// Finds the algorithm of a product at its first use: the library's suggestion, or whichever a chooser takes.
#include "kernels/arguments.hpp"
#include "kernels/cuda/matmul_plan.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// The algorithm for a product; the plans remember it. A chooser may have the candidates timed: then the host waits.
/// @throws Error  The library has none, or the chooser's error.
[[nodiscard]] MatmulAlgorithm matmul_algorithm(MatmulPlans& plans, const MatmulKey& key, const MatmulCall& call,
                                               Context context);

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
