#pragma once
// The size of a warp, and a rounded-up division.
#include "rung.hpp"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE {

constexpr int kWarp = 32;

// How many pieces of `piece` values cover `count`.
__host__ __device__ constexpr int pieces(int count, int piece) { return (count + piece - 1) / piece; }

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE
