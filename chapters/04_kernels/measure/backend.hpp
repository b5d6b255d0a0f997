#pragma once
/// @file
/// What the two CUDA backends can tell about a kernel: the emulator counts, a GPU has times and libraries to compare
/// with. backend_emulated.cpp or backend_cuda.cpp is compiled.
#include <cuda_runtime.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "04_kernels/measure/problem.hpp"

namespace lockstep::ladders {

/// Sums over all launches of a run. A request is what the lanes of one warp ask for with one instruction. Exact and
/// repeatable, and no measure of time.
struct Counts {
  double requests = 0;         ///< Of device memory.
  double sectors = 0;          ///< Pieces of 32 bytes that they touch: 4 for 32 neighbouring floats, at most 32.
  double shared_requests = 0;  ///< Of shared memory.
  double bank_passes = 0;      ///< In which the banks can answer them: 1 each without conflicts.
  double barriers = 0;         ///< Barriers, of whole blocks.
  double atomics = 0;          ///< Atomic operations, of threads.
};

/// Work that a library does in place of a ladder's kernel.
struct LibraryCall {
  std::string name;                           ///< For the table.
  std::function<void(cudaStream_t)> enqueue;  ///< Owns its memory.
};

/// Whether kernels run on the emulator. Then accesses are counted, and never is anything timed.
[[nodiscard]] bool is_emulated();

/// The kernels as they are compiled for speed. On the emulator with LOCKSTEP_EMULATOR_CHECK=1 those of
/// counted_registry(), because the checker sees only half of what the others do.
[[nodiscard]] const Registry& plain_registry();

/// The kernels as they are compiled for counting and for finding mistakes.
/// @throws UnavailableError  This build has no such copy: it runs on a GPU, or with a sanitizer.
[[nodiscard]] const Registry& counted_registry();

/// Runs `enqueue`, whose kernels come from counted_registry(), and waits for the device.
/// @throws UnavailableError  As above.
/// @throws Error         A kernel failed.
[[nodiscard]] Counts count_accesses(const std::function<void()>& enqueue);

/// What a library has for a ladder's work, or a copy of as many bytes where there is nothing; nothing at all where
/// bytes are not what it is about, and on the emulator.
[[nodiscard]] std::optional<LibraryCall> library_call(std::string_view ladder, std::span<const int> sizes);

}  // namespace lockstep::ladders
