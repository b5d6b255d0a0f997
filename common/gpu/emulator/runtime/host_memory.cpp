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

std::byte* HostMemory::allocate(std::size_t bytes, int device, unsigned flags) {
  try {
    DoubleMapping mapping(bytes);
    std::byte* begin = mapping.program();
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[begin];
    entry.bytes = bytes;
    entry.device = device;
    entry.flags = flags;
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
  std::erase_if(guarded_, [begin](const Guarded& pages) { return pages.block == begin; });
  entries_.erase(found);
  return true;
}

bool HostMemory::add_registered(void* begin, std::size_t bytes, int device, unsigned flags) {
  const std::lock_guard lock(mutex_);
  auto* first = static_cast<std::byte*>(begin);
  const auto next = entries_.lower_bound(first);
  if (find_locked(begin) != entries_.end() || (next != entries_.end() && next->first < first + bytes)) return false;
  Entry& entry = entries_[first];
  entry.bytes = bytes;
  entry.device = device;
  entry.flags = flags;
  return true;
}

bool HostMemory::remove_registered(const void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(static_cast<const std::byte*>(begin));
  if (found == entries_.end() || found->second.mapping) return false;
  entries_.erase(found);
  return true;
}

std::vector<const std::byte*> HostMemory::all_of(int device) const {
  const std::lock_guard lock(mutex_);
  std::vector<const std::byte*> found;
  for (const auto& [begin, entry] : entries_) {
    if (entry.device == device) found.push_back(begin);
  }
  return found;
}

bool HostMemory::is_allocated(const void* begin) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(static_cast<const std::byte*>(begin));
  return found != entries_.end() && found->second.mapping;
}

bool HostMemory::is_registered(const void* begin) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(static_cast<const std::byte*>(begin));
  return found != entries_.end() && !found->second.mapping;
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
  return Block{const_cast<std::byte*>(found->first), found->second.bytes, found->second.device, found->second.flags};
}

std::byte* HostMemory::alias(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(address);
  auto* place = static_cast<std::byte*>(const_cast<void*>(address));
  if (found == entries_.end() || !found->second.mapping) return place;
  return found->second.mapping->alias() + (place - found->first);
}

void HostMemory::guard_until(const Use& use, const User& user) {
  const std::lock_guard lock(mutex_);
  const auto found = find_locked(use.begin);
  if (found == entries_.end() || !found->second.mapping) return;
  const auto offset = static_cast<std::size_t>(use.begin - found->first);
  const std::size_t page = page_bytes();
  const std::size_t first = (offset + page - 1) / page * page;
  // The rest of a block's last page is unused.
  const bool reaches_end = offset + use.bytes >= found->second.bytes;
  const std::size_t end = reaches_end ? found->second.mapping->bytes() : (offset + use.bytes) / page * page;
  if (first >= end) return;
  guarded_.push_back({const_cast<std::byte*>(found->first), first, end - first, {user, use.is_write}});
  guard(guarded_.back());
  if (use.is_write) return;
  for (const Guarded& pages : guarded_) {  // what others write stays closed
    if (pages.block == found->first && pages.guard.is_write) guard(pages);
  }
}

void HostMemory::guard(const Guarded& pages) const {
  const DoubleMapping& mapping = *entries_.at(pages.block).mapping;
  if (pages.guard.is_write) {
    mapping.close(pages.offset, pages.bytes);
  } else {
    mapping.forbid_writes(pages.offset, pages.bytes);
  }
}

// A page may wait for several operations; those that write come last, since they close it.
void HostMemory::guard_all() const {
  for (const bool is_write : {false, true}) {
    for (const Guarded& pages : guarded_) {
      if (pages.guard.is_write == is_write) guard(pages);
    }
  }
}

void HostMemory::open_covered(const Clock& clock) {
  const std::lock_guard lock(mutex_);
  const auto is_covered = [&](const Guarded& pages) {
    return clock.covers(pages.guard.user.stream, pages.guard.user.sequence);
  };
  const auto first = std::stable_partition(guarded_.begin(), guarded_.end(), std::not_fn(is_covered));
  if (first == guarded_.end()) return;
  for (auto pages = first; pages != guarded_.end(); ++pages) {
    entries_.at(pages->block).mapping->open(pages->offset, pages->bytes);
  }
  guarded_.erase(first, guarded_.end());
  guard_all();
}

std::optional<HostMemory::Guard> HostMemory::open_page(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto* place = static_cast<const std::byte*>(address);
  const auto holds = [place](const Guarded& pages) {
    return place >= pages.block + pages.offset && place < pages.block + pages.offset + pages.bytes;
  };
  // Of several, the one that closes the page.
  auto found =
      std::ranges::find_if(guarded_, [&](const Guarded& pages) { return holds(pages) && pages.guard.is_write; });
  if (found == guarded_.end()) found = std::ranges::find_if(guarded_, holds);
  if (found == guarded_.end()) return std::nullopt;
  const auto offset = static_cast<std::size_t>(place - found->block) / page_bytes() * page_bytes();
  entries_.at(found->block).mapping->open(offset, page_bytes());
  return found->guard;
}

}  // namespace lockstep::emulator
