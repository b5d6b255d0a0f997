#pragma once
/// @file
/// Thousands of connections in one loop: the cost depends on how many are ready, not on how many are watched.
#include <sys/epoll.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::net {

/// Descriptors that a thread waits for, with keys of its choice (epoll(7)). poll(2) examines every descriptor each time
/// one of them is ready; if P connections are ready in turn, each round of messages then costs P * P checks.
///
/// The set's own descriptor is readable while any member is ready, so a loop may poll it together with others. Thread
/// safety: one thread.
class ReadySet {
 public:
  /// Events that make a descriptor ready; a close by its other end always does.
  enum class Interest { kRead, kReadAndWrite };

  /// Maximum number of keys from one take().
  static constexpr std::size_t kMostPerCall = 512;

  /// @throws IoError  The process is out of descriptors.
  ReadySet();

  /// Readable while take() would return anything.
  [[nodiscard]] int fd() const noexcept { return set_.get(); }

  /// Makes take() return `key` while `fd` is readable.
  /// @throws IoError  The kernel watches no more (/proc/sys/fs/epoll/max_user_watches).
  void add(int fd, std::uint64_t key);
  /// Removes `fd`; call before closing it: a child process's copy would otherwise keep it in the set.
  void remove(int fd) noexcept;
  /// Changes the interest of `fd`, which must be in the set.
  void change(int fd, std::uint64_t key, Interest interest);

  /// Keys of ready descriptors, each once, and at most kMostPerCall; the next call begins with the others. Never
  /// blocks. @return  Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> take();

 private:
  UniqueFd set_;
  std::vector<epoll_event> events_;
  std::vector<std::uint64_t> ready_;
};

}  // namespace lockstep::net
