#include "emulator/engine/block_threads.hpp"

#include <exception>
#include <utility>

#include "emulator/engine/builtin_variables.hpp"

namespace lockstep::emulator {
namespace {

// Not memcpy: sanitizers would refuse bytes between the variables of a stack.
void copy_words(std::uint64_t* to, const std::uint64_t* from, std::size_t count) {
  const volatile std::uint64_t* const source = from;
  for (std::size_t i = 0; i < count; ++i) to[i] = source[i];
}

}  // namespace

void BlockThreads::begin_launch(const dim3& block_dim, std::uint64_t seed) {
  const std::uint32_t count = block_dim.x * block_dim.y * block_dim.z;
  states_.resize(count);
  if (runs_.size() < count) runs_.resize(count);
  ready_.begin_launch(count, seed);
  for (std::uint32_t index = 0; index < count; ++index) {
    ThreadState& thread = states_[index];
    thread = {};
    thread.thread_idx = {index % block_dim.x, index / block_dim.x % block_dim.y, index / (block_dim.x * block_dim.y)};
    thread.linear = index;
    thread.warp = index / 32;
    thread.lane = index % 32;
  }
}

void BlockThreads::begin_block(std::uint64_t block) {
  live_ = static_cast<std::uint32_t>(states_.size());
  ready_.begin_block(block);
}

void BlockThreads::end_block() {
  if (live_ > 0) {
    for (ThreadRun& run : runs_) run.fiber = nullptr;
    pool_.reset();
  }
  set_current_thread(nullptr);
}

std::vector<SuspendedThread> save_threads(BlockThreads& threads) {
  std::vector<SuspendedThread> saved(threads.states().size());
  for (std::size_t thread = 0; thread < saved.size(); ++thread) {
    SuspendedThread& copy = saved[thread];
    copy.state = threads.states()[thread];
    copy.run = threads.runs()[thread];
    if (copy.run.wait == WaitKind::kEnded) continue;
    copy.context = copy.run.fiber->context;
    const std::span<std::byte> used = used_stack(copy.context, copy.run.fiber->stack);
    copy.stack.resize(used.size() / sizeof(std::uint64_t));
    copy_words(copy.stack.data(), reinterpret_cast<const std::uint64_t*>(used.data()), copy.stack.size());
  }
  return saved;
}

void BlockThreads::restore(std::span<const SuspendedThread> threads, std::uint64_t block) {
  begin_block(block);
  std::vector<Fiber*> fibers;
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    const SuspendedThread& saved = threads[thread];
    states_[thread] = saved.state;
    runs_[thread] = saved.run;
    if (saved.run.wait == WaitKind::kEnded) {
      ready_.erase(static_cast<std::uint32_t>(thread));
      --live_;
      continue;
    }
    Fiber& fiber = *saved.run.fiber;
    fibers.push_back(&fiber);
    fiber.context = saved.context;
    const std::span<std::byte> used = used_stack(fiber.context, fiber.stack);
    copy_words(reinterpret_cast<std::uint64_t*>(used.data()), saved.stack.data(), saved.stack.size());
  }
  pool_.take(fibers);
}

void BlockThreads::resume() {
  const std::uint32_t next = ready_.take_turn();
  enter(next, nullptr);
  switch_fiber(main_, runs_[next].fiber->context);
  set_current_thread(nullptr);
}

/// Runs `thread`. If it has not begun, it takes `own_fiber`, or any free one.
void BlockThreads::enter(std::uint32_t thread, Fiber* own_fiber) {
  ThreadState& state = states_[thread];
  ThreadRun& run = runs_[thread];
  // First, because it throws if there is no memory for a stack: the current thread's kernel then ends.
  if (run.fiber == nullptr && own_fiber == nullptr) own_fiber = &pool_.take();
  current_ = thread;
  if (run.fiber == nullptr) {
    run.fiber = own_fiber;
    run.committed_groups = 0;
    run.copies.clear();
    state.stack_begin = run.fiber->stack.data();
    state.stack_end = state.stack_begin + run.fiber->stack.size();
    state.waiting_at = {};
  }
  run.wait = WaitKind::kNothing;
  set_current_thread(&state);
}

void BlockThreads::wait(WaitKind kind) {
  ThreadRun& run = current_run();
  run.wait = kind;
  ready_.erase(current_);
  FiberContext& own = run.fiber->context;
  if (ready_.is_empty() || kernel_.is_over()) {
    switch_fiber(own, main_);
  } else {
    const std::uint32_t next = ready_.take_turn();
    enter(next, nullptr);
    switch_fiber(own, runs_[next].fiber->context);
  }
}

void BlockThreads::yield() {
  if (kernel_.is_over()) abandon();
  FiberContext& own = current_run().fiber->context;
  const std::uint32_t next = ready_.take_turn();
  if (next == current_) return;
  enter(next, nullptr);
  switch_fiber(own, runs_[next].fiber->context);
}

void BlockThreads::make_live_ready() noexcept {
  if (live_ == states_.size()) return ready_.insert_all();
  for (std::uint32_t thread = 0; thread < states_.size(); ++thread) {
    if (runs_[thread].wait != WaitKind::kEnded) ready_.insert(thread);
  }
}

void BlockThreads::pass_on() {
  Fiber& own = *std::exchange(current_run().fiber, nullptr);
  if (ready_.is_empty() || kernel_.is_over()) {
    pool_.give_back(own);
    switch_fiber(own.context, main_);
    return;
  }
  const std::uint32_t next = ready_.take_turn();
  const bool has_begun = runs_[next].fiber != nullptr;
  if (has_begun) pool_.give_back(own);
  enter(next, &own);
  if (has_begun) switch_fiber(own.context, runs_[next].fiber->context);
}

void BlockThreads::abandon() {
  switch_fiber(current_run().fiber->context, main_);
  std::terminate();  // no one resumes a kernel that is over
}

}  // namespace lockstep::emulator
