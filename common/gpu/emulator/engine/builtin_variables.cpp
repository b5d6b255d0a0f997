#include "emulator/engine/builtin_variables.hpp"

// Does not include the header for kernels, which declares these as constants.
LOCKSTEP_EMULATOR_API uint3 threadIdx;
LOCKSTEP_EMULATOR_API uint3 blockIdx;
LOCKSTEP_EMULATOR_API dim3 blockDim;
LOCKSTEP_EMULATOR_API dim3 gridDim;

namespace lockstep::emulator {

namespace {

template <typename Variable>
bool lies_in(const void* address, const Variable& variable) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(&variable) < sizeof variable;
}

ThreadState* running_thread = nullptr;
BlockState* running_block = nullptr;

}  // namespace

void set_current_thread(ThreadState* thread) noexcept {
  running_thread = thread;
  if (thread != nullptr) threadIdx = thread->thread_idx;
}

void set_current_block(BlockState* block) noexcept {
  running_block = block;
  if (block == nullptr) return;
  blockIdx = block->block_idx;
  blockDim = block->block_dim;
  gridDim = block->grid_dim;
}

bool is_builtin_variable(const void* address) noexcept {
  return lies_in(address, threadIdx) || lies_in(address, blockIdx) || lies_in(address, blockDim) ||
         lies_in(address, gridDim);
}

ThreadState* current_thread() noexcept { return running_thread; }
BlockState* current_block() noexcept { return running_block; }

}  // namespace lockstep::emulator
