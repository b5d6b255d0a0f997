#include "emulated_nccl/job_thread.hpp"

#include <chrono>
#include <utility>

namespace lockstep::emulated_nccl {
namespace {

// Delay from a call's return with ncclInProgress to its first effect. Without it, a program that wrongly takes the
// operation as enqueued when the call returns would nearly always work here, and fail on a GPU.
constexpr std::chrono::microseconds kHandOver{300};

}  // namespace

void JobThread::post(std::function<void()> job) {
  const std::scoped_lock lock(mutex_);
  if (is_closing_) return;
  jobs_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void JobThread::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closing_ || !jobs_.empty(); });
    if (jobs_.empty() || is_cancelled_) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    std::this_thread::sleep_for(kHandOver);
    job();
    lock.lock();
  }
}

void JobThread::cancel() noexcept {
  const std::scoped_lock lock(mutex_);
  is_cancelled_ = true;
}

void JobThread::close() noexcept {
  std::thread ending;
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
    ending.swap(thread_);
    changed_.notify_all();
  }
  if (ending.joinable()) ending.join();
  std::deque<std::function<void()>> dropped;  // may own what owns this object: freed without the lock
  const std::scoped_lock lock(mutex_);
  dropped.swap(jobs_);
}

}  // namespace lockstep::emulated_nccl
