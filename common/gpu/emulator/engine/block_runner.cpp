#include "emulator/engine/block_runner.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "emulator/engine/builtin_variables.hpp"
#include "emulator/engine/dynamic_shared.hpp"
#include "emulator/engine/hexadecimal.hpp"

namespace lockstep::emulator {

namespace {

/// Limit on atomics, fences and similar steps of a block between two barriers or thread ends: some seconds' worth.
constexpr std::uint64_t kMostStepsWithoutProgress = std::uint64_t{1} << 30;
constexpr std::uint64_t kStepsPerTurn = 256;

/// All ones is NaN and -1, so a kernel that reads unset memory gets a visibly wrong result. Under a checker, every
/// block gets such memory; otherwise the first block of a launch does.
void fill_unset(std::span<std::byte> shared) { std::ranges::fill(shared, std::byte{0xff}); }

ThreadPlace running_at(const ThreadState& thread) { return {thread.thread_idx, thread.waiting_at, "runs"}; }

}  // namespace

BlockRunner& BlockRunner::instance() {
  // Never destroyed: kernels may run while the process ends.
  static auto* const kInstance = new BlockRunner;
  return *kInstance;
}

BlockRunner::BlockRunner()
    : threads_(kernel_, [] { instance().run_threads(); }),
      units_{{kernel_, threads_, block_}, {kernel_, threads_}, {kernel_, threads_}} {}

void BlockRunner::begin_launch(const KernelCall& call, Observer* observer, std::uint64_t seed) {
  kernel_.begin(call, observer);
  threads_.begin_launch(call.block, seed);
  barrier_.begin_launch();
  units_.phase_barriers.begin_launch();
  block_.block_dim = call.block;
  block_.grid_dim = call.grid;
  block_.dynamic_shared = {dynamic_shared_begin(), call.shared_bytes};
  block_.launch = ++launch_count_;
  block_.threads = threads_.states();
  block_.call = &call;
  if (observer == nullptr) fill_unset(block_.dynamic_shared);
}

std::optional<SuspendedBlock> BlockRunner::run_block(uint3 block_idx, std::uint64_t linear,
                                                     const SuspendedBlock* suspended) {
  std::optional<SuspendedBlock> aside;
  try {
    begin_block(block_idx, linear);
    if (suspended == nullptr) {
      units_.grid_barrier.block_begins();
    } else {
      units_.grid_barrier.bring_back(*suspended);
      for (const SuspendedThread& thread : suspended->threads) {
        if (thread.run.wait == WaitKind::kEnded) meetings_.end_lane(thread.state);
      }
    }
    run_ready_threads();
    if (threads_.live() > 0 && !kernel_.is_over()) aside = units_.grid_barrier.set_aside();
  } catch (const std::exception& error) {  // of the emulator itself; a thread's exceptions end in run_thread()
    kernel_.fail(concat("the emulator could not run block (", block_idx.x, ",", block_idx.y, ",", block_idx.z,
                        "): ", error.what()));
  }
  if (!aside) units_.phase_barriers.end_block(linear);
  end_block();
  return aside;
}

/// Until all threads have ended or wait for the grid, or the kernel is over.
void BlockRunner::run_ready_threads() {
  while (threads_.live() > 0 && !kernel_.is_over()) {
    if (threads_.is_any_ready() || answer_active_masks())
      threads_.resume();
    else if (units_.grid_barrier.has_whole_block())
      return;
    else
      kernel_.report(describe_deadlock(threads_.states(), threads_.runs(), units_.phase_barriers.describe_missing()));
  }
}

void BlockRunner::begin_block(uint3 block_idx, std::uint64_t linear) {
  block_.block_idx = block_idx;
  block_.linear = linear;
  set_current_block(&block_);
  threads_.begin_block(linear);
  barrier_.begin_block();
  meetings_.begin_block(threads_.live());
  units_.products.begin_block();
  steps_without_progress_ = 0;
  if (Observer* const observer = kernel_.observer()) {
    fill_unset(block_.dynamic_shared);
    observer->block_begin(block_);
  }
}

void BlockRunner::end_block() {
  threads_.end_block();
  if (Observer* const observer = kernel_.observer()) observer->block_end();
  set_current_block(nullptr);
}

/// The body of a fiber.
void BlockRunner::run_threads() {
  while (true) {
    run_thread();
    threads_.pass_on();
  }
}

/// A thread that threw has left its kernel, and ends normally.
void BlockRunner::run_thread() {
  const auto report = [&](std::string message) {
    kernel_.report({EngineFindingKind::kException, std::move(message), kernel_.call().place, {}, true});
  };
  Observer* const observer = kernel_.observer();
  try {
    if (observer != nullptr) observer->thread_begin(threads_.current_state());
    kernel_.call().body();
    if (observer != nullptr) observer->thread_end(threads_.current_state());
  } catch (const std::exception& error) {
    report(concat("a kernel threw: ", error.what()));
  } catch (...) {
    report("a kernel threw something that is not a std::exception");
  }
  end_thread();
}

void BlockRunner::end_thread() {
  threads_.end_current();
  steps_without_progress_ = 0;
  const ThreadState& lane = threads_.current_state();
  meetings_.end_lane(lane);
  while (const std::uint32_t met = meetings_.join_without_ended(lane.warp)) release_lanes(lane.warp, met);
  if (barrier_.is_complete(threads_.live())) release_barrier();
}

int BlockRunner::sync_block(BarrierResult wanted, int predicate, SourcePlace at) {
  threads_.current_state().waiting_at = at;
  barrier_.arrive(predicate, at);
  if (barrier_.is_complete(threads_.live()))
    release_barrier();
  else
    threads_.wait(WaitKind::kBarrier);
  // No one can complete the next barrier before this thread arrives there, so the results stay valid until then.
  return barrier_.result(wanted);
}

/// Every live thread is at the barrier, and can run again.
void BlockRunner::release_barrier() {
  if (const auto misuse = barrier_.describe_misuse(threads_.states(), threads_.runs())) kernel_.report(*misuse);
  barrier_.pass();
  steps_without_progress_ = 0;
  if (Observer* const observer = kernel_.observer()) observer->barrier_passed();
  threads_.make_live_ready();
}

void BlockRunner::meet(const WarpOperation& operation, std::uint32_t mask, std::size_t bytes, LaneCall& call,
                       SourcePlace at) {
  ThreadState& lane = threads_.current_state();
  lane.waiting_at = at;
  if ((mask >> lane.lane & 1U) == 0) {
    end_kernel({EngineFindingKind::kWrongMask,
                concat("lane ", lane.lane, " calls ", operation.name, " with mask ", hexadecimal(mask),
                       ", which lacks its own bit"),
                at,
                {running_at(lane)}});
  }
  if (const std::uint32_t met = meetings_.join(lane, operation, mask, bytes, call)) {
    release_lanes(lane.warp, met);
  } else {
    ThreadRun& run = threads_.current_run();
    run.operation = &operation;
    run.mask = mask;
    threads_.wait(WaitKind::kWarp);
  }
  if (!call.reads_undefined || kernel_.observer() == nullptr) return;
  kernel_.report({EngineFindingKind::kUndefinedLane,
                  concat("lane ", lane.lane, " reads a lane that takes no part in this ", operation.name, " (mask ",
                         hexadecimal(mask), "): the value is undefined"),
                  at,
                  {running_at(lane)},
                  false});
}

void BlockRunner::release_lanes(std::uint32_t warp, std::uint32_t lanes) {
  if (Observer* const observer = kernel_.observer()) observer->warp_met(warp, lanes);
  steps_without_progress_ = 0;
  for_each_lane(lanes, [&](std::uint32_t lane) { threads_.make_ready(warp * 32 + lane); });
}

std::uint32_t BlockRunner::active_mask(SourcePlace at) {
  ThreadState& lane = threads_.current_state();
  lane.waiting_at = at;
  LaneCall call;
  meetings_.ask_active_mask(lane, call);
  threads_.wait(WaitKind::kActiveMask);
  return call.result;
}

bool BlockRunner::answer_active_masks() {
  bool has_answered = false;
  for (std::uint32_t warp = 0; warp < meetings_.warp_count(); ++warp) {
    const std::uint32_t lanes = meetings_.answer_active_masks(warp, threads_.states());
    for_each_lane(lanes, [&](std::uint32_t lane) { threads_.make_ready(warp * 32 + lane); });
    has_answered |= lanes != 0;
  }
  return has_answered;
}

void BlockRunner::note_possible_spin() {
  ++steps_without_progress_;
  if (steps_without_progress_ % kStepsPerTurn != 0) return;
  if (steps_without_progress_ >= kMostStepsWithoutProgress) {
    const ThreadPlace here = running_at(threads_.current_state());
    end_kernel({EngineFindingKind::kDeadlock,
                "deadlock: the threads that can run only retry. Blocks run one after another: none may wait "
                "for a later one",
                here.place,
                {here}});
  }
  threads_.yield();
}

void BlockRunner::end_kernel(EngineFinding finding) {
  finding.ends_kernel = true;
  kernel_.report(finding);
  threads_.abandon();
}

}  // namespace lockstep::emulator
