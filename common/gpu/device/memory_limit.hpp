#pragma once
/// @file
/// A limit on the memory that this process uses on a device: a small GPU, played on a large machine.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lockstep {

class CachingAllocator;

/// A device has no memory left, or a limit allows no more. The message begins with "out of memory on".
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

/// From now on, an allocation on `device` fails if more than `bytes` would be in use together: blocks of Storage and,
/// on the CPU, RegisteredBytes. Memory of other kinds (the program, its libraries, blocks kept for reuse) is not
/// counted. The limit is the process's: threads that act as ranks share it. Thread safety: any.
/// @param bytes  0: no limit.
/// @param who    For the message: "rank 2"; may be empty.
/// @throws UnavailableError  There is no such device.
void set_memory_limit(Device device, std::size_t bytes, std::string who = {});

/// `listener` is called with the message when a limit refuses an allocation, before the error is thrown: to tell other
/// ranks. It must not allocate Storage, nor throw. Replaces the last one; null: none. Thread safety: any.
void on_refused_allocation(std::function<void(const std::string& message)> listener);

/// The memory that counts against a limit, in bytes.
struct CountedMemory {
  std::size_t in_use = 0;      ///< By blocks of Storage, and registered memory.
  std::size_t registered = 0;  ///< Part of it: RegisteredBytes.
  std::size_t peak = 0;        ///< Of in_use, since start or reset_peak().
};

/// @param device  Whose memory. @throws UnavailableError  There is no such device.
[[nodiscard]] CountedMemory counted_memory(Device device = {});

/// Whether less memory of a kind would be needed for a smaller batch.
enum class MemoryNeed {
  kOfBatch,  ///< Or of both.
  kOfModel,  ///< Not: weights, moments of the optimizer.
};

/// While it lives, says what this thread allocates memory for; a failed allocation names it. An outer purpose is named
/// after the inner one: "gradient of wte.weight, for unit wte".
/// @cost  Six words on the stack: nothing is copied.
class AllocationPurpose {
 public:
  /// @param what, whose  Texts to be joined, such as "gradient of " and a parameter's name. Must outlive this object.
  explicit AllocationPurpose(std::string_view what, std::string_view whose = {},
                             MemoryNeed need = MemoryNeed::kOfBatch) noexcept;
  ~AllocationPurpose();
  AllocationPurpose(const AllocationPurpose&) = delete;
  AllocationPurpose& operator=(const AllocationPurpose&) = delete;

  /// Of the calling thread; empty if it has none.
  [[nodiscard]] static std::string current();
  /// kOfModel if that is the need of any purpose of the calling thread.
  [[nodiscard]] static MemoryNeed current_need() noexcept;

 private:
  std::string_view what_, whose_;
  MemoryNeed need_;
  const AllocationPurpose* outer_;
};

/// While it lives, counts host memory that does not come from the caching allocator (a process group's, shared among
/// ranks) as if it did: in counted_memory(), and against the limit.
class RegisteredBytes {
 public:
  /// Call before the memory is made. @throws OutOfMemoryError  The limit does not allow it.
  explicit RegisteredBytes(std::size_t bytes);
  ~RegisteredBytes();
  RegisteredBytes(const RegisteredBytes&) = delete;
  RegisteredBytes& operator=(const RegisteredBytes&) = delete;

  /// As given.
  [[nodiscard]] std::size_t count() const noexcept { return bytes_; }

 private:
  std::shared_ptr<CachingAllocator> counter_;
  std::size_t bytes_;
};

/// A limit as an allocator keeps it. Internal to this module.
struct MemoryLimit {
  std::size_t bytes = 0;  ///< 0: none.
  std::string who;

  /// Refuses more bytes than any memory has, with or without a limit: sizes of blocks are then rounded up safely.
  /// @throws OutOfMemoryError  As require_room().
  void require_possible(std::size_t asked, std::size_t in_use, Device device) const;
  /// @param asked   Bytes that the caller wants. @param taken  Bytes of the block that serves them.
  /// @param in_use  Bytes in use already.
  /// @throws OutOfMemoryError  They do not fit; the message has the purpose.
  void require_room(std::size_t asked, std::size_t taken, std::size_t in_use, Device device) const;
};

/// The message of an OutOfMemoryError: who asked for how much, what for, and what to try. Internal to this module.
/// @param in_use  What is in use, and the limit if there is one.
[[nodiscard]] std::string out_of_memory_message(Device device, std::string_view who, std::size_t asked,
                                                std::string_view in_use);

}  // namespace lockstep
