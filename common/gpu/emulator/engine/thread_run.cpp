#include "emulator/engine/thread_run.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "emulator/engine/hexadecimal.hpp"

namespace lockstep::emulator {

ThreadPlace place_of(const ThreadState& state, const ThreadRun& run) {
  ThreadPlace place{state.thread_idx, state.waiting_at, "runs"};
  if (run.wait == WaitKind::kBarrier) place.doing = "waits in __syncthreads";
  if (run.wait == WaitKind::kActiveMask) place.doing = "waits in __activemask";
  if (run.wait == WaitKind::kGrid) place.doing = "waits in grid.sync()";
  if (run.wait == WaitKind::kPhaseBarrier) place.doing = "waits at an mbarrier";
  if (run.wait == WaitKind::kEnded) {
    const bool has_waited = place.place.file != nullptr;
    place.doing = has_waited ? "has ended; its last barrier is" : "has ended without reaching a barrier";
  }
  if (run.wait == WaitKind::kWarp) {
    place.doing = concat("waits in ", run.operation->name, " with mask ", hexadecimal(run.mask));
  }
  return place;
}

EngineFinding describe_deadlock(std::span<const ThreadState> states, std::span<const ThreadRun> runs,
                                std::string_view more) {
  constexpr std::size_t kMostExamples = 8;
  EngineFinding finding{EngineFindingKind::kDeadlock, {}, {}, {}, true};
  std::size_t waiting = 0;
  for (const ThreadState& state : states) {
    const ThreadRun& run = runs[state.linear];
    if (run.wait == WaitKind::kEnded) continue;
    ++waiting;
    ThreadPlace place = place_of(state, run);
    const auto is_alike = [&](const ThreadPlace& other) {
      return other.place == place.place && other.doing == place.doing;
    };
    if (std::ranges::any_of(finding.threads, is_alike) || finding.threads.size() == kMostExamples) continue;
    finding.threads.push_back(std::move(place));
  }
  finding.message = concat("deadlock: none of ", waiting, " threads can go on", more);
  if (!finding.threads.empty()) finding.place = finding.threads.front().place;
  return finding;
}

}  // namespace lockstep::emulator
