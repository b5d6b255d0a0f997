#pragma once
/// @file
/// What every ladder is made of: rungs with a name, a function, and what the function asks of its sizes.
#include <cuda_runtime.h>

// Kernels may be compiled twice for one program, plain and checked (see common/cmake/LockstepEmulator.cmake): the
// copies live in namespaces of their own.
#ifndef LOCKSTEP_KERNEL_NAMESPACE
#define LOCKSTEP_KERNEL_NAMESPACE plain
#endif

namespace lockstep::ladders {

/// What a rung asks of the sizes it is given. Every rung takes any sizes but for these.
enum class Requirement {
  kNone,          ///< Any sizes.
  kMultiplesOf4,  ///< Rows of a matrix begin at 16-byte boundaries: their lengths are multiples of 4.
  kMultiplesOf8,  ///< As above for bfloat16: multiples of 8.
  kShortRows      ///< A multiple of 4 and at most 1024: rows that stay in the registers of a warp.
};

/// One version of a kernel.
/// @tparam Function  Pointer to the function that launches it; the same for all rungs of a ladder.
template <typename Function>
struct Rung {
  const char* name;         ///< Of its file and its function.
  Function function;        ///< Enqueues all its work on the stream that it is given.
  Requirement requirement;  ///< Of the sizes.
  const char* removes;      ///< The cost that the rung before it pays.
};

/// The rungs of one ladder, from the slowest on. A view of a constexpr array.
template <typename Function>
struct Ladder {
  const Rung<Function>* first;  ///< The naive one.
  int count;                    ///< How many there are.

  [[nodiscard]] constexpr const Rung<Function>* begin() const { return first; }        ///< For loops.
  [[nodiscard]] constexpr const Rung<Function>* end() const { return first + count; }  ///< For loops.
};

/// Views an array of rungs.
template <typename Function, int kCount>
constexpr Ladder<Function> ladder_of(const Rung<Function> (&rungs)[kCount]) {
  return {rungs, kCount};
}

}  // namespace lockstep::ladders
