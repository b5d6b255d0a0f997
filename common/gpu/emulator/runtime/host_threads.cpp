#include "emulator/runtime/host_threads.hpp"

#include <utility>

namespace lockstep::emulator {
namespace {

thread_local bool is_forbidden = false;

}  // namespace

bool are_calls_forbidden() { return is_forbidden; }

CallsForbidden::CallsForbidden() : before_(std::exchange(is_forbidden, true)) {}
CallsForbidden::~CallsForbidden() { is_forbidden = before_; }

void HostThreads::post(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    functions_.push_back(std::move(function));
    if (functions_.size() > idle_) threads_.emplace_back([this] { run(); });
  }
  changed_.notify_one();
}

void HostThreads::run() {
  is_forbidden = true;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return is_stopping_ || !functions_.empty(); });
    --idle_;
    if (functions_.empty()) return;
    const auto function = std::move(functions_.front());
    functions_.pop_front();
    lock.unlock();
    function();
    lock.lock();
  }
}

void HostThreads::stop() {
  std::vector<std::thread> ending;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    ending.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : ending) thread.join();
  const std::lock_guard lock(mutex_);
  is_stopping_ = false;
}

}  // namespace lockstep::emulator
