// The block's barrier: threads that have ended no longer count (CUDA C++ Programming Guide, "Independent Thread
// Scheduling": __syncthreads waits for all non-exited threads of the block).
#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {

namespace {

/// One file may have several names in memory, one per object file that includes it.
bool is_same_line(const SourcePlace& a, const SourcePlace& b) {
  if (a == b) return true;
  return a.line == b.line && a.file != nullptr && b.file != nullptr && std::strcmp(a.file, b.file) == 0;
}

}  // namespace

int BlockRunner::sync_block(BarrierResult wanted, int predicate, SourcePlace at) {
  current_state().waiting_at = at;
  if (arrived_ == 0)
    first_arrival_ = at;
  else if (!(first_arrival_ == at) && !is_same_line(first_arrival_, at))
    is_divergent_ = true;
  ++arrived_;
  if (predicate != 0) ++true_count_;
  if (is_barrier_complete())
    release_barrier();
  else
    wait(WaitKind::kBarrier);
  // Nobody can complete the next barrier before this thread has come to it, so the results stay until then.
  switch (wanted) {
    case BarrierResult::kCount:
      return static_cast<int>(passed_true_count_);
    case BarrierResult::kAnd:
      return passed_true_count_ == passed_live_ ? 1 : 0;
    case BarrierResult::kOr:
      return passed_true_count_ > 0 ? 1 : 0;
    case BarrierResult::kNothing:
      break;
  }
  return 0;
}

void BlockRunner::release_barrier() {
  if (is_divergent_ || live_ < thread_count_) report_divergent_barrier();
  passed_true_count_ = true_count_;
  passed_live_ = live_;
  arrived_ = true_count_ = 0;
  is_divergent_ = false;
  steps_without_progress_ = 0;
  if (observer_ != nullptr) observer_->barrier_passed();
  if (live_ == thread_count_) {
    runnable_.fill(thread_count_);
    return;
  }
  for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
    if (runs_[thread].wait == WaitKind::kBarrier) runnable_.insert(runs_[thread].place_in_order);
  }
}

/// Once per launch for each of the two causes: a loop would repeat it without end.
void BlockRunner::report_divergent_barrier() {
  bool& has_reported = is_divergent_ ? has_reported_divergence_ : has_reported_early_end_;
  if (std::exchange(has_reported, true)) return;
  EngineFinding finding{EngineFindingKind::kDivergentBarrier, {}, first_arrival_, {}, false};
  if (is_divergent_) {
    finding.message = "threads of one block wait in __syncthreads of different lines";
  } else {
    finding.kind = EngineFindingKind::kBarrierAfterExit;
    finding.message = concat(thread_count_ - live_, " of ", thread_count_,
                             " threads had ended before a __syncthreads that the others reach");
  }
  const auto add_first = [&](auto is_wanted) {
    for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
      if (is_wanted(thread)) return finding.threads.push_back(place_of(thread));
    }
  };
  const auto is_ended = [&](std::uint32_t thread) { return runs_[thread].wait == WaitKind::kEnded; };
  const auto is_at_first_line = [&](std::uint32_t thread) {
    return is_same_line(threads_[thread].waiting_at, first_arrival_);
  };
  add_first([&](std::uint32_t thread) { return !is_ended(thread) && is_at_first_line(thread); });
  if (is_divergent_) add_first([&](std::uint32_t thread) { return !is_ended(thread) && !is_at_first_line(thread); });
  if (live_ < thread_count_) add_first(is_ended);
  report(finding);
}

}  // namespace lockstep::emulator
