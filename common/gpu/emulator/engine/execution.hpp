#pragma once
/// @file
/// Runs a kernel: every block of its grid, one after another; the threads of a block as fibers of the calling thread.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/cuda/lockstep_emulator/kernel_call.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/cuda/vector_types.h"

namespace lockstep::emulator {

/// How a kernel ended.
struct KernelResult {
  bool is_ok = true;                ///< False: the device stays in the state that `error` names.
  std::string message;              ///< What ended it: deadlock, an exception, a stack overflow, or too many findings.
  cudaError_t error = cudaSuccess;  ///< cudaErrorIllegalAddress after a memory fault, else cudaErrorLaunchFailure.
};

/// One thread of the running block.
struct ThreadState {
  uint3 thread_idx{};                ///< threadIdx.
  std::uint32_t linear = 0;          ///< Rank in the block, x fastest.
  std::uint32_t warp = 0;            ///< linear / 32.
  std::uint32_t lane = 0;            ///< linear % 32.
  std::byte* stack_begin = nullptr;  ///< Lowest address of its stack; what lies there is the thread's own.
  std::byte* stack_end = nullptr;    ///< One past the highest.
  SourcePlace waiting_at;            ///< The last barrier or collective that it came to.
};

/// The block that runs.
struct BlockState {
  uint3 block_idx{};                    ///< blockIdx.
  std::uint64_t linear = 0;             ///< Rank in the grid, x fastest.
  dim3 block_dim;                       ///< blockDim.
  dim3 grid_dim;                        ///< gridDim.
  std::span<std::byte> dynamic_shared;  ///< What this launch asked for; the same address in every launch.
  std::uint64_t launch = 0;             ///< Counts launches of the process from 1.
  std::span<ThreadState> threads;       ///< By `linear`. Addresses stay while the launch lasts.
  const KernelCall* call = nullptr;     ///< What runs.
};

/// What CUDA would answer to this launch before anything runs: limits of grid and block, launch bounds, shared memory.
/// @param[out] message  Says what is wrong with it; unchanged if nothing is.
LOCKSTEP_EMULATOR_API cudaError_t check_launch(const KernelCall& call, std::string& message);

/// Makes memory accessible that a kernel has touched, if it can: true, and the access is tried again; false, and it
/// ends the kernel. Runs in a signal handler, on the thread of execute().
using FaultRepair = bool (*)(const void* address);

/// Runs all of `call` on the calling thread. One kernel runs per process at a time: a second caller waits for the
/// first. Never throws what a kernel threw: that, a deadlock and the like are results.
/// @param repair  For memory that is closed to the host but not to kernels; null: there is none.
LOCKSTEP_EMULATOR_API KernelResult execute(const KernelCall& call, int device, FaultRepair repair = nullptr);

/// The thread that runs, or null outside kernels.
LOCKSTEP_EMULATOR_API ThreadState* current_thread() noexcept;
/// The block that runs, or null outside kernels.
LOCKSTEP_EMULATOR_API BlockState* current_block() noexcept;

/// LOCKSTEP_EMULATOR_SEED: which order ready threads run in. 0: by rank; 1: backwards; others: shuffled.
LOCKSTEP_EMULATOR_API std::uint64_t schedule_seed();
/// Replaces the environment's seed (tests).
LOCKSTEP_EMULATOR_API void set_schedule_seed(std::uint64_t seed);

/// How many dynamic bytes of shared memory this kernel may ask for (cudaFuncAttributeMaxDynamicSharedMemorySize).
/// 48 KiB unless set; at most 227 KiB.
LOCKSTEP_EMULATOR_API cudaError_t set_max_dynamic_shared(const void* function, std::size_t bytes);
/// As set, or 48 KiB.
LOCKSTEP_EMULATOR_API std::size_t max_dynamic_shared(const void* function);
/// The first number of the kernel's __launch_bounds__, or 1024.
LOCKSTEP_EMULATOR_API unsigned max_threads_per_block(const void* function);

/// Ends the running kernel after the current thread's step: execute() returns a failure with this message.
/// For observers that have seen enough.
LOCKSTEP_EMULATOR_API void stop_kernel(std::string message);

}  // namespace lockstep::emulator
