#include "emulator/runtime/host_memory.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.hpp"

namespace lockstep::emulator {

HostMemory& HostMemory::instance() {
  static HostMemory& memory = *new HostMemory;  // executor threads may outlive the destructors of statics
  return memory;
}

std::byte* HostMemory::allocate(std::size_t bytes) {
  try {
    DoubleMapping mapping(bytes);
    std::byte* begin = mapping.program();
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[begin];
    entry.bytes = bytes;
    entry.mapping.emplace(std::move(mapping));
    return begin;
  } catch (const IoError&) {
    return nullptr;
  }
}

bool HostMemory::free(const void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(static_cast<const std::byte*>(begin));
  if (found == entries_.end() || !found->second.mapping) return false;
  const auto of_block = [begin](const Closed& closed) { return closed.block == begin; };
  closed_.erase(std::remove_if(closed_.begin(), closed_.end(), of_block), closed_.end());
  entries_.erase(found);
  return true;
}

bool HostMemory::add_registered(void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* first = static_cast<std::byte*>(begin);
  const auto next = entries_.lower_bound(first);
  if (find_locked(begin) != entries_.end() || (next != entries_.end() && next->first < first + bytes)) return false;
  entries_[first].bytes = bytes;
  return true;
}

bool HostMemory::remove_registered(const void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(static_cast<const std::byte*>(begin));
  if (found == entries_.end() || found->second.mapping) return false;
  entries_.erase(found);
  return true;
}

HostMemory::Entries::const_iterator HostMemory::find_locked(const void* address) const {
  const auto* place = static_cast<const std::byte*>(address);
  auto found = entries_.upper_bound(place);
  if (found == entries_.begin()) return entries_.end();
  --found;
  return place < found->first + found->second.bytes ? found : entries_.end();
}

std::optional<HostMemory::Block> HostMemory::find(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(address);
  if (found == entries_.end()) return std::nullopt;
  return Block{const_cast<std::byte*>(found->first), found->second.bytes};
}

std::byte* HostMemory::alias(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(address);
  auto* place = static_cast<std::byte*>(const_cast<void*>(address));
  if (found == entries_.end() || !found->second.mapping) return place;
  return found->second.mapping->alias() + (place - found->first);
}

void HostMemory::close_until(const void* begin, std::size_t bytes, StreamId stream, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(begin);
  if (found == entries_.end() || !found->second.mapping) return;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - found->first);
  const std::size_t page = page_bytes();
  const std::size_t first = (offset + page - 1) / page * page;
  // The rest of a block's last page is unused.
  const bool reaches_end = offset + bytes >= found->second.bytes;
  const std::size_t end = reaches_end ? found->second.mapping->bytes() : (offset + bytes) / page * page;
  if (first >= end) return;
  closed_.push_back({const_cast<std::byte*>(found->first), first, end - first, stream, sequence});
  found->second.mapping->close(first, end - first);
}

void HostMemory::close_all() const {
  for (const Closed& closed : closed_) entries_.at(closed.block).mapping->close(closed.offset, closed.bytes);
}

void HostMemory::open_covered(const Clock& clock) {
  const std::lock_guard lock(mutex_);
  const auto is_covered = [&](const Closed& closed) { return clock.covers(closed.stream, closed.sequence); };
  const auto first = std::stable_partition(closed_.begin(), closed_.end(), std::not_fn(is_covered));
  if (first == closed_.end()) return;
  for (auto closed = first; closed != closed_.end(); ++closed) {
    entries_.at(closed->block).mapping->open(closed->offset, closed->bytes);
  }
  closed_.erase(first, closed_.end());
  close_all();  // a page may wait for several copies
}

bool HostMemory::open_page(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto* place = static_cast<const std::byte*>(address);
  const auto holds = [place](const Closed& closed) {
    return place >= closed.block + closed.offset && place < closed.block + closed.offset + closed.bytes;
  };
  const auto found = std::find_if(closed_.begin(), closed_.end(), holds);
  if (found == closed_.end()) return false;
  const auto offset = static_cast<std::size_t>(place - found->block) / page_bytes() * page_bytes();
  entries_.at(found->block).mapping->open(offset, page_bytes());
  return true;
}

}  // namespace lockstep::emulator
