#include "device/read_lock.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace lockstep {

// Covers all locked storages. There are few of them, so a storage itself only has a count.
struct ReadLock::Locks {
  struct OfStorage {
    int count = 0;
    std::chrono::steady_clock::time_point until{};  // the latest of its locks
    bool was_overrun = false;                       // a writer's wait reached `until`
  };
  std::mutex mutex;
  std::condition_variable released;
  std::map<const Storage*, OfStorage> by_storage;
};

const std::shared_ptr<ReadLock::Locks>& ReadLock::all() {
  static const auto locks = std::make_shared<Locks>();
  return locks;
}

ReadLock::ReadLock(std::shared_ptr<const Storage> storage, std::chrono::steady_clock::time_point until)
    : locks_(all()), storage_(std::move(storage)) {
  const std::scoped_lock lock(locks_->mutex);
  Locks::OfStorage& own = locks_->by_storage[storage_.get()];
  own.until = std::max(own.until, until);
  storage_->read_locks_.store(++own.count, std::memory_order_release);
}

ReadLock& ReadLock::operator=(ReadLock&& other) noexcept {
  std::swap(locks_, other.locks_);
  std::swap(storage_, other.storage_);
  return *this;
}

ReadLock::~ReadLock() { (void)release(); }

ReadLock::Outcome ReadLock::release() noexcept {
  if (!storage_) return Outcome::kUnchanged;
  bool was_overrun = false;
  {
    const std::scoped_lock lock(locks_->mutex);
    const auto own = locks_->by_storage.find(storage_.get());
    was_overrun = own->second.was_overrun;
    storage_->read_locks_.store(--own->second.count, std::memory_order_release);
    if (own->second.count == 0) locks_->by_storage.erase(own);
  }
  locks_->released.notify_all();
  storage_.reset();
  return was_overrun ? Outcome::kMayHaveChanged : Outcome::kUnchanged;
}

void ReadLock::wait(const Storage& storage) noexcept {
  Locks& locks = *all();
  std::unique_lock lock(locks.mutex);
  for (;;) {
    const auto found = locks.by_storage.find(&storage);
    if (found == locks.by_storage.end()) return;
    const auto until = found->second.until;  // the entry may be erased while this thread waits
    if (std::chrono::steady_clock::now() >= until) {
      found->second.was_overrun = true;
      return;
    }
    locks.released.wait_until(lock, until);
  }
}

}  // namespace lockstep
