#pragma once
/// @file
/// Measurements of a kernel on the two CUDA backends: the emulator counts accesses; a GPU gives times and has libraries
/// to compare with. Implemented by either backend_emulated.cpp or backend_cuda.cpp.
#include <cuda_runtime.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "04_kernels/measure/problem.hpp"

namespace lockstep::ladders {

/// Sums over all launches of a run. A request is one access instruction of one warp. Exact and repeatable, but not a
/// measure of time.
struct Counts {
  double requests = 0;         ///< To device memory.
  double sectors = 0;          ///< 32-byte pieces touched: 4 for 32 neighbouring floats, at most 32 per request.
  double shared_requests = 0;  ///< To shared memory.
  double bank_passes = 0;      ///< Passes of the banks to answer them: 1 each without conflicts.
  double barriers = 0;         ///< Of whole blocks.
  double atomics = 0;          ///< Counted per thread.
};

/// The work of a ladder's kernel, done by a library.
struct LibraryCall {
  std::string name;                           ///< In the table.
  std::function<void(cudaStream_t)> enqueue;  ///< Owns its memory.
};

/// Whether kernels run on the emulator. If so, accesses are counted and nothing is timed.
[[nodiscard]] bool is_emulated();

/// The kernels compiled for speed. On the emulator with LOCKSTEP_EMULATOR_CHECK=1, those of counted_registry(), because
/// the checker sees only half of the others' accesses.
[[nodiscard]] const Registry& plain_registry();

/// The kernels compiled for counting and for finding mistakes.
/// @throws UnavailableError  This build has no such copy: it runs on a GPU, or with a sanitizer.
[[nodiscard]] const Registry& counted_registry();

/// Runs `enqueue`, whose kernels come from counted_registry(), and waits for the device.
/// @throws UnavailableError  As above.
/// @throws Error         A kernel failed.
[[nodiscard]] Counts count_accesses(const std::function<void()>& enqueue);

/// A library's call for a ladder's work; if there is none, a copy of as many bytes. Nothing on the emulator, or if the
/// ladder is not about bytes.
[[nodiscard]] std::optional<LibraryCall> library_call(std::string_view ladder, std::span<const int> sizes);

}  // namespace lockstep::ladders
