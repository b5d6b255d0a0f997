#include "emulator/runtime/host_threads.hpp"

#include <utility>

namespace lockstep::emulator {
namespace {

thread_local bool in_host_function = false;

}  // namespace

bool is_in_host_function() { return in_host_function; }

CallsForbidden::CallsForbidden() : before_(std::exchange(in_host_function, true)) {}
CallsForbidden::~CallsForbidden() { in_host_function = before_; }

void HostThreads::post(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    functions_.push_back(std::move(function));
    if (functions_.size() > idle_) threads_.emplace_back([this] { run(); });
  }
  changed_.notify_one();
}

void HostThreads::run() {
  in_host_function = true;
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
