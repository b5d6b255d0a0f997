#pragma once
/// @file
/// Runs a kernel: its blocks one after another, the threads of a block as fibers of the calling thread.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/cuda/lockstep_emulator/kernel_call.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/cuda/vector_types.h"

namespace lockstep::emulator {

/// How a kernel ended.
struct KernelResult {
  bool is_ok = true;    ///< False: the device stays in the error state `error`.
  std::string message;  ///< The cause of a failure: deadlock, exception, stack overflow, or too many findings.
  cudaError_t error = cudaSuccess;  ///< cudaErrorIllegalAddress after a memory fault, cudaErrorAssert after a failed
                                    ///< assert, else cudaErrorLaunchFailure.
};

/// One thread of the running block.
struct ThreadState {
  uint3 thread_idx{};
  std::uint32_t linear = 0;          ///< Rank in the block, x fastest.
  std::uint32_t warp = 0;            ///< linear / 32.
  std::uint32_t lane = 0;            ///< linear % 32.
  std::byte* stack_begin = nullptr;  ///< Lowest address of its stack, which is private to the thread.
  std::byte* stack_end = nullptr;    ///< One past the highest.
  SourcePlace waiting_at;            ///< The last barrier or collective that it reached.
  bool has_unfinished_sums = false;  ///< It has started products (wgmma) and not waited for all of them.
};

struct BlockState {
  uint3 block_idx{};
  std::uint64_t linear = 0;  ///< Rank in the grid, x fastest.
  dim3 block_dim;
  dim3 grid_dim;
  std::span<std::byte> dynamic_shared;  ///< The launch's dynamic shared memory; the same address in every launch.
  std::uint64_t launch = 0;             ///< Number of the launch in the process, from 1.
  std::span<ThreadState> threads;       ///< Indexed by `linear`. Addresses are stable during the launch.
  const KernelCall* call = nullptr;     ///< The running launch.
};

/// Checks a launch as CUDA does before anything runs: limits of grid and block, launch bounds, shared memory.
/// @param[out] message  The problem; unchanged if there is none.
LOCKSTEP_EMULATOR_API cudaError_t check_launch(const KernelCall& call, std::string& message);

/// Tries to open the memory that a kernel touched. True: the access is retried; false: the fault ends the kernel. Runs
/// in a signal handler, on the thread of execute().
using FaultRepair = bool (*)(const void* address);

/// Finds the static shared memory of the program that holds a kernel.
using SharedVariables = std::vector<std::span<std::byte>> (*)(const void* function);

/// Runs all of `call` on the calling thread. One kernel runs per process at a time: other callers wait. Never throws:
/// exceptions of the kernel, deadlocks and the like are returned as results.
/// @param repair     Opens memory that kernels may touch but the host may not; may be null.
/// @param variables  For cooperative kernels, whose blocks keep their shared memory while others run; may be null.
LOCKSTEP_EMULATOR_API KernelResult execute(const KernelCall& call, int device, FaultRepair repair = nullptr,
                                           SharedVariables variables = nullptr);

/// The running thread, or null outside kernels.
LOCKSTEP_EMULATOR_API ThreadState* current_thread() noexcept;
/// The running block, or null outside kernels.
LOCKSTEP_EMULATOR_API BlockState* current_block() noexcept;

/// True if a product that the thread has not waited for adds to the float at this address.
LOCKSTEP_EMULATOR_API bool is_unfinished_sum(const ThreadState& thread, const void* address);

/// The seed of the order in which ready threads run, from LOCKSTEP_EMULATOR_SEED. 0: by rank; 1: by descending rank;
/// others: shuffled.
LOCKSTEP_EMULATOR_API std::uint64_t schedule_seed();
/// Overrides the environment's seed (for tests).
LOCKSTEP_EMULATOR_API void set_schedule_seed(std::uint64_t seed);

/// Sets how much dynamic shared memory a kernel may use (cudaFuncAttributeMaxDynamicSharedMemorySize). 48 KiB unless
/// set; at most 227 KiB.
LOCKSTEP_EMULATOR_API cudaError_t set_max_dynamic_shared(const void* function, std::size_t bytes);
/// The value set, or 48 KiB.
LOCKSTEP_EMULATOR_API std::size_t max_dynamic_shared(const void* function);
/// The first argument of the kernel's __launch_bounds__, or 1024.
LOCKSTEP_EMULATOR_API unsigned max_threads_per_block(const void* function);

/// Ends the running kernel after the current thread's step: execute() returns a failure with this message. Observers
/// call it when they have too many findings.
LOCKSTEP_EMULATOR_API void stop_kernel(std::string message);

}  // namespace lockstep::emulator
