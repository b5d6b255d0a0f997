#include "emulator/engine/block_runner.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "emulator/engine/builtin_variables.hpp"
#include "emulator/engine/dynamic_shared.hpp"

namespace lockstep::emulator {

BlockRunner& BlockRunner::instance() {
  // Never destroyed: kernels may run while the process ends.
  static auto* const kInstance = new BlockRunner;
  return *kInstance;
}

BlockRunner::BlockRunner() : pool_(&BlockRunner::fiber_main) {}

void BlockRunner::begin_launch(const KernelCall& call, Observer* observer, std::uint64_t seed) {
  call_ = &call;
  observer_ = observer;
  seed_ = seed;
  result_ = {};
  must_stop_ = false;
  has_reported_divergence_ = has_reported_early_end_ = false;
  thread_count_ = call.block.x * call.block.y * call.block.z;
  block_.block_dim = call.block;
  block_.grid_dim = call.grid;
  block_.dynamic_shared = {dynamic_shared_begin(), call.shared_bytes};
  block_.launch = ++launch_count_;
  block_.call = &call;
  if (observer_ == nullptr) clear_shared();
  if (runs_.size() < thread_count_) runs_.resize(thread_count_);
  threads_.resize(thread_count_);
  warps_.resize((thread_count_ + 31) / 32);
  order_.resize(thread_count_);
  block_.threads = threads_;
  for (std::uint32_t index = 0; index < thread_count_; ++index) {
    ThreadState& thread = threads_[index];
    thread = {};
    thread.thread_idx = {index % call.block.x, index / call.block.x % call.block.y,
                         index / (call.block.x * call.block.y)};
    thread.linear = index;
    thread.warp = index / 32;
    thread.lane = index % 32;
    order_[index] = seed_ == 1 ? thread_count_ - 1 - index : index;
    runs_[order_[index]].place_in_order = index;
  }
}

bool BlockRunner::run_block(uint3 block_idx, std::uint64_t linear) {
  begin_block(block_idx, linear);
  while (live_ > 0 && !must_stop_) {
    if (!runnable_.is_empty() || settle_active_masks())
      resume_first();
    else
      report_stuck();
  }
  end_block();
  return !must_stop_;
}

void BlockRunner::begin_block(uint3 block_idx, std::uint64_t linear) {
  block_.block_idx = block_idx;
  block_.linear = linear;
  set_current_block(&block_);
  if (seed_ > 1) shuffle_order();
  live_ = thread_count_;
  arrived_ = true_count_ = 0;
  is_divergent_ = false;
  next_place_ = 0;
  steps_without_progress_ = 0;
  runnable_.fill(thread_count_);
  for (std::uint32_t index = 0; index < warps_.size(); ++index) {
    const std::uint32_t lanes = thread_count_ - index * 32;
    warps_[index].live = lanes >= 32 ? 0xffffffffU : (1U << lanes) - 1;
    warps_[index].group_count = 0;
  }
  if (observer_ != nullptr) {
    clear_shared();
    observer_->block_begin(block_);
  }
}

/// All ones is NaN and -1: who relies on memory that nobody has set gets a wrong result that is seen. Every block gets
/// such memory while a checker looks, else the first of a launch.
void BlockRunner::clear_shared() { std::ranges::fill(block_.dynamic_shared, std::byte{0xff}); }

void BlockRunner::shuffle_order() {
  PhiloxSequence random(seed_, block_.linear);
  for (std::uint32_t index = thread_count_; index > 1; --index) {
    std::swap(order_[index - 1], order_[static_cast<std::uint32_t>(random.next_below(index))]);
  }
  for (std::uint32_t index = 0; index < thread_count_; ++index) runs_[order_[index]].place_in_order = index;
}

void BlockRunner::end_block() {
  if (live_ > 0) {  // threads were given up where they stood
    for (ThreadRun& run : runs_) run.fiber = nullptr;
    pool_.reset();
  }
  set_current_thread(nullptr);
  if (observer_ != nullptr) observer_->block_end();
  set_current_block(nullptr);
}

void BlockRunner::end_launch() {
  call_ = nullptr;
  observer_ = nullptr;
}

void BlockRunner::resume_first() {
  const std::uint32_t next = choose();
  enter(next, nullptr);
  switch_fiber(main_, runs_[next].fiber->context);
  set_current_thread(nullptr);
}

std::uint32_t BlockRunner::choose() noexcept {
  const std::uint32_t place = runnable_.next(next_place_);
  next_place_ = place + 1;
  return order_[place];
}

/// Gives `thread` its turn. One that has not begun takes `own_fiber`, or any free one.
void BlockRunner::enter(std::uint32_t thread, Fiber* own_fiber) {
  current_ = thread;
  ThreadState& state = threads_[thread];
  ThreadRun& run = runs_[thread];
  if (run.fiber == nullptr) {
    run.fiber = own_fiber != nullptr ? own_fiber : &pool_.take();
    run.committed_groups = 0;
    run.copies.clear();
    state.stack_begin = run.fiber->stack.data();
    state.stack_end = state.stack_begin + run.fiber->stack.size();
    state.waiting_at = {};
  }
  run.wait = WaitKind::kNothing;
  set_current_thread(&state);
}

/// Returns when somebody has made this thread runnable again and its turn has come.
void BlockRunner::wait(WaitKind kind) {
  ThreadRun& run = current_run();
  run.wait = kind;
  runnable_.erase(run.place_in_order);
  FiberContext& own = run.fiber->context;
  if (runnable_.is_empty() || must_stop_) {
    switch_fiber(own, main_);
  } else {
    const std::uint32_t next = choose();
    enter(next, nullptr);
    switch_fiber(own, runs_[next].fiber->context);
  }
}

void BlockRunner::yield() {
  ThreadRun& run = current_run();
  const std::uint32_t next = must_stop_ ? current_ : choose();
  if (must_stop_) abandon();
  if (next == current_) return;
  FiberContext& own = run.fiber->context;
  enter(next, nullptr);
  switch_fiber(own, runs_[next].fiber->context);
}

void BlockRunner::fiber_main() {
  BlockRunner& runner = instance();
  while (true) {
    runner.run_thread();
    runner.retire();
  }
}

void BlockRunner::run_thread() {
  try {
    if (observer_ != nullptr) observer_->thread_begin(current_state());
    call_->body();
    if (observer_ != nullptr) observer_->thread_end(current_state());
  } catch (const std::exception& error) {
    report({EngineFindingKind::kException, concat("a kernel threw: ", error.what()), call_->place, {}, true});
  } catch (...) {
    report(
        {EngineFindingKind::kException, "a kernel threw something that is no std::exception", call_->place, {}, true});
  }
  end_thread();
}

void BlockRunner::end_thread() {
  const ThreadState& state = current_state();
  ThreadRun& run = current_run();
  run.wait = WaitKind::kEnded;
  runnable_.erase(run.place_in_order);
  --live_;
  steps_without_progress_ = 0;
  warps_[state.warp].live &= ~(1U << state.lane);
  if (warps_[state.warp].group_count > 0) finish_groups_without(state.warp, state.lane);
  if (is_barrier_complete()) release_barrier();
}

/// Passes the turn on. Returns on the fiber that has ended a thread when that fiber has another thread to begin with:
/// threads that never wait all use one stack, without a switch.
void BlockRunner::retire() {
  Fiber& own = *std::exchange(current_run().fiber, nullptr);
  if (runnable_.is_empty() || must_stop_) {
    pool_.give_back(own);
    switch_fiber(own.context, main_);
    return;
  }
  const std::uint32_t next = choose();
  const bool has_begun = runs_[next].fiber != nullptr;
  if (has_begun) pool_.give_back(own);
  enter(next, &own);
  if (has_begun) switch_fiber(own.context, runs_[next].fiber->context);
}

}  // namespace lockstep::emulator
