#include "device/block_pool.hpp"

#include <algorithm>
#include <iterator>

namespace lockstep {

std::size_t BlockPool::block_bytes(std::size_t bytes) noexcept {
  return (bytes + kGranularity - 1) / kGranularity * kGranularity;
}

BlockPool::Taken BlockPool::take(std::size_t bytes) {
  const std::size_t wanted = block_bytes(bytes);
  auto range = best_fit(wanted);
  Taken taken{nullptr, 0};
  if (range == ranges_.end()) {
    range = map_segment(wanted);
    taken.bytes_mapped = range->second.bytes;
  }
  taken.block = range->first;
  set_free(range, false);
  if (range->second.bytes > wanted) {
    const Range rest{range->second.bytes - wanted, range->second.segment, false};
    range->second.bytes = wanted;
    set_free(ranges_.emplace(range->first + wanted, rest).first, true);
  }
  return taken;
}

void BlockPool::give_back(std::byte* block) {
  const auto range = ranges_.find(block);
  set_free(range, true);
  join_with_next(range);
  if (range == ranges_.begin()) return;
  if (const auto before = std::prev(range); before->second.is_free) join_with_next(before);
}

std::size_t BlockPool::release_unused() {
  std::size_t released = 0;
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    const auto segment = segments_.find(range->second.segment);
    if (range->second.is_free && range->second.bytes == segment->second.bytes()) {
      released += range->second.bytes;
      set_free(range, false);
      range = ranges_.erase(range);
      segments_.erase(segment);
    } else {
      if (range->second.is_free) MappedPages::discard(range->first, range->second.bytes);
      ++range;
    }
  }
  return released;
}

BlockPool::Ranges::iterator BlockPool::best_fit(std::size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, nullptr});
  return found == by_size_.end() ? ranges_.end() : ranges_.find(found->second);
}

BlockPool::Ranges::iterator BlockPool::map_segment(std::size_t bytes) {
  MappedPages pages(std::max(bytes, kSegmentBytes));
  std::byte* const begin = pages.data();
  const Range whole{pages.bytes(), begin, false};
  segments_.emplace(begin, std::move(pages));
  return ranges_.emplace(begin, whole).first;
}

void BlockPool::set_free(Ranges::iterator range, bool is_free) {
  if (is_free)
    by_size_.emplace(range->second.bytes, range->first);
  else
    by_size_.erase({range->second.bytes, range->first});
  range->second.is_free = is_free;
}

void BlockPool::join_with_next(Ranges::iterator range) {
  const auto next = std::next(range);
  if (next == ranges_.end() || !next->second.is_free || next->second.segment != range->second.segment) return;
  set_free(range, false);
  set_free(next, false);
  range->second.bytes += next->second.bytes;
  ranges_.erase(next);
  set_free(range, true);
}

}  // namespace lockstep
