#pragma once
/// @file
/// The parts of every ladder: rungs with a name, a function, and the function's requirement on sizes.
#include <cuda_runtime.h>

// Kernels may be compiled twice for one program, plain and checked (see common/cmake/LockstepEmulator.cmake): each copy
// has its own namespace.
#ifndef LOCKSTEP_KERNEL_NAMESPACE
#define LOCKSTEP_KERNEL_NAMESPACE plain
#endif

namespace lockstep::ladders {

/// A rung's requirement on its sizes. There are no others.
enum class Requirement {
  kNone,          ///< Any sizes.
  kMultiplesOf4,  ///< Row lengths are multiples of 4, so that rows begin at 16-byte boundaries.
  kMultiplesOf8,  ///< As above for bfloat16: multiples of 8.
  kHopper,        ///< As above, and a GPU of compute capability 9.
  kShortRows      ///< A multiple of 4 and at most 1024: a row fits into the registers of a warp.
};

/// One version of a kernel.
/// @tparam Function  Type of the launching function; the same for all rungs of a ladder.
template <typename Function>
struct Rung {
  const char* name;   ///< Also the name of its file and its function.
  Function function;  ///< Enqueues all its work on the given stream.
  Requirement requirement;
  const char* removes;  ///< The cost of the previous rung that this one avoids.
};

/// The rungs of one ladder, from slow to fast. A view of a constexpr array.
template <typename Function>
struct Ladder {
  const Rung<Function>* first;  ///< The naive one.
  int count;

  [[nodiscard]] constexpr const Rung<Function>* begin() const { return first; }
  [[nodiscard]] constexpr const Rung<Function>* end() const { return first + count; }
};

template <typename Function, int kCount>
constexpr Ladder<Function> ladder_of(const Rung<Function> (&rungs)[kCount]) {
  return {rungs, kCount};
}

}  // namespace lockstep::ladders
