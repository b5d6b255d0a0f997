#pragma once
/// @file
/// Lets one thread read memory while others go on: writers wait until it has finished.
#include <chrono>
#include <memory>

#include "device/storage.hpp"

namespace lockstep {

/// Keeps the bytes of a storage as they are while it lives, for a thread that reads them through const_data(): until
/// then Storage::data(), and so everything that writes to a tensor, waits. Several locks may lie on one storage.
/// Reading never waits.
///
/// The wait ends at a set time at the latest, so that a reader that hangs does not stop the program: the bytes may then
/// change, and release() says so.
///
/// Thread safety: a lock belongs to one thread at a time. It must be made by the thread that writes to the storage, or
/// while none does: an address that data() has returned before is not guarded.
class ReadLock {
 public:
  /// Whether the reader has seen the bytes as they were when the lock was made.
  enum class Outcome { kUnchanged, kMayHaveChanged };

  /// @param storage  Kept alive by the lock.
  /// @param until    When writers stop waiting.
  ReadLock(std::shared_ptr<const Storage> storage, std::chrono::steady_clock::time_point until);
  ReadLock(ReadLock&&) noexcept = default;
  /// Takes over what `other` keeps; what this one has kept is released with `other`.
  ReadLock& operator=(ReadLock&& other) noexcept;
  ~ReadLock();

  /// Lets writers go on, who otherwise wait for the destructor. Nothing happens the second time.
  /// @return  kMayHaveChanged: a writer came, and `until` passed before this call.
  Outcome release() noexcept;

 private:
  struct Locks;
  friend class Storage;
  [[nodiscard]] static const std::shared_ptr<Locks>& all();
  static void wait(const Storage& storage) noexcept;

  std::shared_ptr<Locks> locks_;            // the process's: a thread that nobody waits for may outlive static objects
  std::shared_ptr<const Storage> storage_;  // null: released
};

}  // namespace lockstep
