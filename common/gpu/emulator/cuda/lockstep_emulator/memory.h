#pragma once
/// @file
/// Loads and stores with cache hints, which have no effect here, and dynamic shared memory.
#include <cstddef>

#include "export.h"

namespace lockstep::emulator {

/// The dynamic shared memory of the running block.
LOCKSTEP_EMULATOR_API std::byte* dynamic_shared_begin() noexcept;

/// The dynamic shared memory of the running block, like `extern __shared__ T x[]`.
template <typename T>
T* dynamic_shared() noexcept {
  static_assert(alignof(T) <= 1024, "shared memory is aligned to 1024 bytes");
  return reinterpret_cast<T*>(dynamic_shared_begin());
}

}  // namespace lockstep::emulator

// clang-format off
template <typename T> inline T __ldg(const T* from) { return *from; }
template <typename T> inline T __ldca(const T* from) { return *from; }
template <typename T> inline T __ldcg(const T* from) { return *from; }
template <typename T> inline T __ldcs(const T* from) { return *from; }
template <typename T> inline T __ldlu(const T* from) { return *from; }
template <typename T> inline T __ldcv(const T* from) { return *from; }
template <typename T> inline void __stwb(T* to, T value) { *to = value; }
template <typename T> inline void __stcg(T* to, T value) { *to = value; }
template <typename T> inline void __stcs(T* to, T value) { *to = value; }
template <typename T> inline void __stwt(T* to, T value) { *to = value; }
// clang-format on
