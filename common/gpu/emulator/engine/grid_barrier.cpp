#include "emulator/engine/grid_barrier.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace lockstep::emulator {

void GridBarrier::wait(SourcePlace at) {
  threads_.current_state().waiting_at = at;
  if (!kernel_.call().is_cooperative) {
    kernel_.fail(concat("grid.sync() at ", at.file, ":", at.line,
                        " in a kernel that was not launched by cudaLaunchCooperativeKernel"));
    threads_.abandon();
  }
  threads_.wait(WaitKind::kGrid);
  Observer* const observer = kernel_.observer();
  if (!std::exchange(is_back_, false) || observer == nullptr) return;
  observer->block_resumed(block_, variables_.used());
  observer->barrier_passed();
}

bool GridBarrier::has_whole_block() {
  return std::ranges::all_of(threads_.runs(), [](const ThreadRun& run) {
    return run.wait == WaitKind::kGrid || run.wait == WaitKind::kEnded;
  });
}

SuspendedBlock GridBarrier::set_aside() {
  SuspendedBlock aside{block_.block_idx, block_.linear, save_threads(threads_), {}, variables_.save()};
  aside.dynamic_shared.assign(block_.dynamic_shared.begin(), block_.dynamic_shared.end());
  return aside;
}

void GridBarrier::bring_back(const SuspendedBlock& block) {
  threads_.restore(block.threads, block.linear);
  std::ranges::copy(block.dynamic_shared, block_.dynamic_shared.begin());
  variables_.restore(block.variables);
  variables_.block_begins();
  is_back_ = true;
}

}  // namespace lockstep::emulator
