#include "emulator/checker/knowledge.hpp"

#include <algorithm>
#include <iterator>

namespace lockstep::emulator::checker {

void Knowledge::add(Interval block_first, Interval interval, const Warp& warp) {
  Block& block = blocks_[block_first];
  if (interval < block.interval) return;
  if (interval > block.interval) {
    block.interval =
        interval;  // the earlier interval ended with a barrier, so all of it is known and its clocks are obsolete
    block.warps.clear();
  }
  for (Warp& known : block.warps) {
    if (known.warp != warp.warp) continue;
    for (std::size_t lane = 0; lane < 32; ++lane) known.lanes[lane] = std::max(known.lanes[lane], warp.lanes[lane]);
    return;
  }
  block.warps.push_back(warp);
}

void Knowledge::merge(const Knowledge& other) {
  for (const auto& [first, block] : other.blocks_) {
    for (const Warp& warp : block.warps) add(first, block.interval, warp);
  }
}

bool Knowledge::covers(const Access& access) const noexcept {
  const auto after = blocks_.upper_bound(access.interval);
  if (after == blocks_.begin()) return false;
  const Block& block = std::prev(after)->second;
  if (access.interval != block.interval) return access.interval < block.interval;
  return std::any_of(block.warps.begin(), block.warps.end(), [&](const Warp& warp) {
    return warp.warp == access.thread() / 32 && access.clock <= warp.lanes[access.thread() % 32];
  });
}

void merge_into(std::shared_ptr<Knowledge>& target, const std::shared_ptr<Knowledge>& source) {
  if (source == nullptr || target == source) return;
  if (target == nullptr) {
    target = source;
    return;
  }
  if (target.use_count() > 1) target = std::make_shared<Knowledge>(*target);
  target->merge(*source);
}

}  // namespace lockstep::emulator::checker
