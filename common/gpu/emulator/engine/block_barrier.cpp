#include "emulator/engine/block_barrier.hpp"

#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace lockstep::emulator {

namespace {

/// A file name may have several addresses, one per object file that includes it.
bool is_same_line(const SourcePlace& a, const SourcePlace& b) {
  if (a == b) return true;
  return a.line == b.line && a.file != nullptr && b.file != nullptr && std::strcmp(a.file, b.file) == 0;
}

}  // namespace

void BlockBarrier::begin_block() noexcept {
  arrived_ = true_count_ = 0;
  is_divergent_ = false;
}

void BlockBarrier::compare_with_first(SourcePlace at) noexcept {
  if (!is_same_line(first_arrival_, at)) is_divergent_ = true;
}

void BlockBarrier::pass() noexcept {
  passed_ = arrived_;
  passed_true_count_ = true_count_;
  begin_block();
}

int BlockBarrier::result(BarrierResult wanted) const noexcept {
  switch (wanted) {
    case BarrierResult::kCount:
      return static_cast<int>(passed_true_count_);
    case BarrierResult::kAnd:
      return passed_true_count_ == passed_ ? 1 : 0;
    case BarrierResult::kOr:
      return passed_true_count_ > 0 ? 1 : 0;
    case BarrierResult::kNothing:
      break;
  }
  return 0;
}

std::optional<EngineFinding> BlockBarrier::describe_misuse(std::span<const ThreadState> states,
                                                           std::span<const ThreadRun> runs) {
  const std::size_t ended = states.size() - arrived_;
  if (!is_divergent_ && ended == 0) return std::nullopt;
  if (std::exchange(is_divergent_ ? has_described_divergence_ : has_described_early_end_, true)) return std::nullopt;
  EngineFinding finding{EngineFindingKind::kDivergentBarrier, {}, first_arrival_, {}, false};
  if (is_divergent_) {
    finding.message = "threads of one block wait in __syncthreads of different lines";
  } else {
    finding.kind = EngineFindingKind::kBarrierAfterExit;
    finding.message =
        concat(ended, " of ", states.size(), " threads had ended before a __syncthreads that the others reach");
  }
  const auto add_first = [&](auto is_wanted) {
    for (const ThreadState& state : states) {
      if (is_wanted(state)) return finding.threads.push_back(place_of(state, runs[state.linear]));
    }
  };
  const auto is_ended = [&](const ThreadState& state) { return runs[state.linear].wait == WaitKind::kEnded; };
  const auto is_at_first_line = [&](const ThreadState& state) {
    return is_same_line(state.waiting_at, first_arrival_);
  };
  add_first([&](const ThreadState& state) { return !is_ended(state) && is_at_first_line(state); });
  if (is_divergent_) add_first([&](const ThreadState& state) { return !is_ended(state) && !is_at_first_line(state); });
  if (ended > 0) add_first(is_ended);
  return finding;
}

}  // namespace lockstep::emulator
