#pragma once
/// @file
/// Thousands of connections in one loop: what is ready costs, and what is only watched does not.
#include <sys/epoll.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::net {

/// Descriptors that a thread waits for, by keys of its own (epoll(7)). poll(2) looks at every descriptor each time that
/// any of them is ready; with P connections that speak in turn, each round of messages then costs P * P looks.
///
/// The set is a descriptor itself, which is readable while anything in it is ready: a loop may poll it beside others.
/// Thread safety: one thread.
class ReadySet {
 public:
  /// What makes a descriptor ready; that its other end has closed always does.
  enum class Interest { kRead, kReadAndWrite };

  /// What take() returns at most.
  static constexpr std::size_t kMostPerCall = 512;

  /// @throws IoError  The process is out of descriptors.
  ReadySet();

  /// Readable while take() would return anything.
  [[nodiscard]] int fd() const noexcept { return set_.get(); }

  /// From now on take() returns `key` while `fd` can be read.
  /// @throws IoError  The kernel watches no more (/proc/sys/fs/epoll/max_user_watches).
  void add(int fd, std::uint64_t key);
  /// Takes `fd` out, before it is closed: a copy of it that a child process has would else keep it in.
  void remove(int fd) noexcept;
  /// Changes what makes `fd`, which is in the set, ready.
  void change(int fd, std::uint64_t key, Interest interest);

  /// Keys of what is ready now, each once, and kMostPerCall at most: the next call then begins with the others. Never
  /// waits. @return  Valid until the next call.
  [[nodiscard]] std::span<const std::uint64_t> take();

 private:
  UniqueFd set_;
  std::vector<epoll_event> events_;
  std::vector<std::uint64_t> ready_;
};

}  // namespace lockstep::net
