#include "net/ready_set.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace lockstep::net {

ReadySet::ReadySet() : set_(::epoll_create1(EPOLL_CLOEXEC)), events_(kMostPerCall) {
  if (!set_.is_open()) throw IoError("epoll_create1", errno);
}

void ReadySet::add(int fd, std::uint64_t key) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
  if (::epoll_ctl(set_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw IoError("watching a connection", errno);
}

void ReadySet::remove(int fd) noexcept { ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void ReadySet::change(int fd, std::uint64_t key, Interest interest) {
  const std::uint32_t written = interest == Interest::kReadAndWrite ? EPOLLOUT : 0U;
  epoll_event event{.events = EPOLLIN | written, .data = {.u64 = key}};
  if (::epoll_ctl(set_.get(), EPOLL_CTL_MOD, fd, &event) != 0) throw IoError("watching a connection", errno);
}

// The kernel moves reported descriptors to the end of its list, so none starves if more are ready.
std::span<const std::uint64_t> ReadySet::take() {
  ready_.clear();
  const int count = ::epoll_wait(set_.get(), events_.data(), static_cast<int>(events_.size()), 0);
  if (count < 0 && errno != EINTR) throw IoError("epoll_wait", errno);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events_[static_cast<std::size_t>(i)].data.u64;  // a copy: epoll_event is packed
    ready_.push_back(key);
  }
  return ready_;
}

}  // namespace lockstep::net
