#pragma once
/// @file
/// Divides work among OpenMP threads; serial in a build without OpenMP. Internal to this module.
#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>

#include "kernels/cpu/signal_shield.hpp"
#endif

namespace lockstep::kernels {

/// Elements below which starting threads (some microseconds) costs more than it gains.
inline constexpr std::int64_t kSerialElements = 16384;

/// How many threads a parallel region may use here.
[[nodiscard]] inline int thread_limit() noexcept {
#ifdef _OPENMP
  return omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Runs body(task) for each task in [0, tasks), a contiguous range of tasks per thread, so that the same thread gets
/// the same rows in one operation after another. `elements` decides whether threads pay. `body` must not throw.
template <typename Body>
void parallel_tasks(std::int64_t tasks, [[maybe_unused]] std::int64_t elements, const Body& body) {
#ifdef _OPENMP
  if (tasks > 1 && elements >= kSerialElements && thread_limit() > 1) {
#pragma omp parallel
    {
      if (omp_get_thread_num() != 0) shield_pool_thread();
#pragma omp for schedule(static)
      for (std::int64_t task = 0; task < tasks; ++task) body(task);
    }
    return;
  }
#endif
  for (std::int64_t task = 0; task < tasks; ++task) body(task);
}

/// Runs body(begin, end) over [0, count) in blocks of `block`; `block` never depends on the number of threads.
template <typename Body>
void parallel_blocks(std::int64_t count, std::int64_t block, std::int64_t elements, const Body& body) {
  parallel_tasks((count + block - 1) / block, elements, [&](std::int64_t task) {
    const std::int64_t begin = task * block;
    body(begin, std::min(count, begin + block));
  });
}

}  // namespace lockstep::kernels
