#pragma once
/// @file
/// Lets one thread read memory while others run: writers wait until it has finished.
#include <chrono>
#include <memory>

#include "device/storage.hpp"

namespace lockstep {

/// While it lives, keeps the bytes of a storage unchanged for a thread that reads them through const_data():
/// Storage::data(), and so every write to a tensor, waits. A storage may have several locks. Reading never waits.
///
/// Writers wait until a set time at most, so that a reader that hangs does not stop the program. The bytes may then
/// change, and release() reports it.
///
/// Thread safety: a lock belongs to one thread at a time. It must be made by the thread that writes to the storage, or
/// while no thread does: addresses returned by earlier calls of data() are not guarded.
class ReadLock {
 public:
  /// Whether the bytes may have changed since the lock was made.
  enum class Outcome { kUnchanged, kMayHaveChanged };

  /// @param storage  Kept alive by the lock.
  /// @param until    When writers stop waiting.
  ReadLock(std::shared_ptr<const Storage> storage, std::chrono::steady_clock::time_point until);
  ReadLock(ReadLock&&) noexcept = default;
  /// Swaps with `other`, whose destructor then releases this lock.
  ReadLock& operator=(ReadLock&& other) noexcept;
  ~ReadLock();

  /// Lets writers continue; otherwise the destructor does. A second call does nothing.
  /// @return  kMayHaveChanged if a writer stopped waiting because `until` had passed.
  Outcome release() noexcept;

 private:
  struct Locks;
  friend class Storage;
  [[nodiscard]] static const std::shared_ptr<Locks>& all();
  static void wait(const Storage& storage) noexcept;

  std::shared_ptr<Locks> locks_;            // the process's: a detached thread may outlive static objects
  std::shared_ptr<const Storage> storage_;  // null: released
};

}  // namespace lockstep
