#pragma once
/// @file
/// cuda::pipeline: stages of asynchronous copies (CUDA C++ Programming Guide, "Asynchronous Data Copies using
/// cuda::pipeline").
#include <cstddef>
#include <cstdint>

#include "asynchronous_bytes.h"
#include "source_place.h"
#include "synchronization.h"
#include "thread_groups.h"

namespace cuda {

/// Which threads share an object.
enum class thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
using enum thread_scope;

/// Stages that a block shares; a `__shared__` variable.
template <thread_scope Scope, std::uint8_t Stages>
class pipeline_shared_state {
  static_assert(Scope == thread_scope_block, "the emulator has pipelines of a thread or of a block");
};

/// A number of bytes that is a multiple of an alignment.
template <std::size_t Alignment>
struct aligned_size_t {
  static constexpr std::size_t align = Alignment;
  std::size_t value;
  constexpr explicit aligned_size_t(std::size_t bytes) noexcept : value(bytes) {}
  constexpr operator std::size_t() const noexcept { return value; }
};

/// A queue of stages. In a block's pipeline, all threads of the block make all calls.
template <thread_scope Scope>
class pipeline {
 public:
  explicit pipeline(unsigned stages) noexcept : stages_(stages) {}
  pipeline(const pipeline&) = delete;
  pipeline(pipeline&&) noexcept = default;
  pipeline& operator=(const pipeline&) = delete;
  ~pipeline() = default;

  /// Waits until a stage is free: until all threads have released the one that used it before.
  void producer_acquire(LOCKSTEP_EMULATOR_AT) {
    if (acquired_ >= stages_) meet(at);
    ++acquired_;
  }
  /// Ends the stage: the copies since the last commit.
  void producer_commit() {
    lockstep::emulator::copy_async_commit();
    ++committed_;
  }
  /// Waits for the oldest stage that nobody has waited for; then all threads of the block see its copies.
  void consumer_wait(LOCKSTEP_EMULATOR_AT) {
    if (waited_ < committed_) ++waited_;
    wait_prior(committed_ - waited_, at);
  }
  /// Gives the stage free.
  void consumer_release() noexcept {}
  bool quit() noexcept { return true; }

  /// Waits for all stages except the last `pending`.
  void wait_prior(unsigned pending, lockstep::emulator::SourcePlace at) {
    lockstep::emulator::copy_async_wait(pending);
    meet(at);
  }

 private:
  static void meet(lockstep::emulator::SourcePlace at) {
    if (Scope == thread_scope_thread) return;
    lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kNothing, 0, at);
  }

  unsigned stages_;
  unsigned acquired_ = 0, committed_ = 0, waited_ = 0;
};

/// Of the calling thread alone.
[[nodiscard]] inline pipeline<thread_scope_thread> make_pipeline() noexcept {
  return pipeline<thread_scope_thread>(~0U);
}
/// Of a block, which all its threads join.
template <thread_scope Scope, std::uint8_t Stages>
[[nodiscard]] pipeline<Scope> make_pipeline(const cooperative_groups::thread_block&,
                                            pipeline_shared_state<Scope, Stages>*) noexcept {
  return pipeline<Scope>(Stages);
}

/// Waits for all stages except the last `Pending`.
template <std::uint8_t Pending, thread_scope Scope>
void pipeline_consumer_wait_prior(pipeline<Scope>& queue, LOCKSTEP_EMULATOR_AT) {
  queue.wait_prior(Pending, at);
}

/// Copies `bytes` in the current stage, by the calling thread.
template <typename T, thread_scope Scope>
void memcpy_async(T* to, const T* from, std::size_t bytes, pipeline<Scope>&, LOCKSTEP_EMULATOR_AT) {
  lockstep::emulator::copy_bytes_async(to, from, bytes, 0, 1, at);
}
/// The same, shared by the threads of a group.
template <typename Group, typename T, thread_scope Scope>
void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes, pipeline<Scope>&, LOCKSTEP_EMULATOR_AT) {
  lockstep::emulator::copy_bytes_async(to, from, bytes, group.thread_rank(), group.size(), at);
}

}  // namespace cuda
