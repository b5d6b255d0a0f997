// What is said when a block cannot go on.
#include <algorithm>
#include <exception>

#include "base/text.hpp"
#include "emulator/engine/block_runner.hpp"
#include "emulator/engine/hexadecimal.hpp"

namespace lockstep::emulator {

namespace {

constexpr std::size_t kMostExamples = 8;
/// Atomics, fences and the like of one block between two barriers or ends of threads: some seconds of them.
constexpr std::uint64_t kMostStepsWithoutProgress = std::uint64_t{1} << 30;
constexpr std::uint64_t kStepsPerTurn = 256;

std::string thread_text(const ThreadPlace& thread) {
  const uint3& index = thread.thread_idx;
  const std::string where =
      thread.place.file == nullptr ? "" : concat(" at ", thread.place.file, ":", thread.place.line);
  return concat("thread (", index.x, ",", index.y, ",", index.z, ") ", thread.doing, where);
}

}  // namespace

ThreadPlace BlockRunner::place_of(std::uint32_t thread) const {
  const ThreadRun& run = runs_[thread];
  ThreadPlace place{threads_[thread].thread_idx, threads_[thread].waiting_at, "runs"};
  if (run.wait == WaitKind::kBarrier) place.doing = "waits in __syncthreads";
  if (run.wait == WaitKind::kActiveMask) place.doing = "waits in __activemask";
  if (run.wait == WaitKind::kEnded) {
    const bool has_waited = place.place.file != nullptr;
    place.doing = has_waited ? "has ended; its last barrier is" : "has ended without one";
  }
  if (run.wait == WaitKind::kWarp) {
    place.doing = concat("waits in ", run.operation->name, " with mask ", hexadecimal(run.mask));
  }
  return place;
}

/// Nobody can run and nobody has ended the kernel. One example per line and operation says more than a list of all.
void BlockRunner::report_stuck() {
  EngineFinding finding{
      EngineFindingKind::kDeadlock, concat("deadlock: none of ", live_, " threads can go on"), {}, {}, true};
  for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
    if (runs_[thread].wait == WaitKind::kEnded) continue;
    ThreadPlace place = place_of(thread);
    const auto is_alike = [&](const ThreadPlace& other) {
      return other.place == place.place && other.doing == place.doing;
    };
    if (std::ranges::any_of(finding.threads, is_alike) || finding.threads.size() == kMostExamples) continue;
    finding.threads.push_back(std::move(place));
  }
  if (!finding.threads.empty()) finding.place = finding.threads.front().place;
  report(finding);
}

void BlockRunner::note_possible_spin() {
  ++steps_without_progress_;
  if (steps_without_progress_ % kStepsPerTurn != 0) return;
  if (steps_without_progress_ >= kMostStepsWithoutProgress) {
    report({EngineFindingKind::kDeadlock,
            "deadlock: the threads that run only try again and again. Blocks run one after another: none may wait for "
            "a later one",
            current_state().waiting_at,
            {place_of(current_)},
            true});
  }
  yield();
}

void BlockRunner::report(const EngineFinding& finding) {
  if (observer_ != nullptr) observer_->finding(finding);
  if (!finding.ends_kernel) return;
  std::string message = finding.message;
  const uint3& index = block_.block_idx;
  message += concat(" (block (", index.x, ",", index.y, ",", index.z, "))");
  for (const ThreadPlace& thread : finding.threads) message += "\n  " + thread_text(thread);
  const bool is_fault = finding.kind == EngineFindingKind::kIllegalAddress;
  fail(std::move(message), is_fault ? cudaErrorIllegalAddress : cudaErrorLaunchFailure);
  // A thread that threw has left its kernel and ends in order; one that made a mistake amid its kernel cannot go on.
  if (current_thread() != nullptr && finding.kind != EngineFindingKind::kException) abandon();
}

void BlockRunner::fail(std::string message, cudaError_t error) {
  must_stop_ = true;
  if (!result_.is_ok) return;
  result_ = {false, std::move(message), error};
}

void BlockRunner::abandon() {
  switch_fiber(current_run().fiber->context, main_);
  std::terminate();  // nobody goes on with a kernel that is over
}

}  // namespace lockstep::emulator
