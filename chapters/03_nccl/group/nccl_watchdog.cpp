#include "03_nccl/group/nccl_watchdog.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace lockstep::nccl {
namespace {

using namespace std::chrono_literals;

// Pause between two polls of the stream: short at first, for small collectives; then longer.
constexpr std::chrono::microseconds kShortestPause = 10us, kLongestPause = 1ms;
// Limit for aborted work to leave the stream.
constexpr auto kIdleLimit = 10s;

}  // namespace

void NcclProcessGroup::Task::wait(Stream& stream) {
  if (bounce.has_results()) return synchronize();  // host memory: the host itself has to wait
  const std::scoped_lock lock(watchdog->mutex_);
  if (error) std::rethrow_exception(error);
  if (!has_ended) stream.wait(done);
}

void NcclProcessGroup::Task::synchronize() { watchdog->wait_for(*this); }

bool NcclProcessGroup::Task::is_completed() const { return watchdog->has_ended(*this); }

void NcclProcessGroup::Watchdog::add(std::shared_ptr<Task> task) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  }
  changed_.notify_all();
}

std::exception_ptr NcclProcessGroup::Watchdog::refuse(Task& task, const std::exception_ptr& error) {
  for (const Call& call : task.calls) group_->begin(call);
  end(task, error);
  return task.error;
}

void NcclProcessGroup::Watchdog::wait_for(Task& task) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return task.has_ended; });
    if (task.error) std::rethrow_exception(task.error);
    if (group_ == nullptr) return;
    ++asking_;
  }
  std::exception_ptr error;
  try {
    for (const Call& call : task.calls) group_->require_agreement_on(call);
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::scoped_lock lock(mutex_);
    --asking_;
  }
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
}

bool NcclProcessGroup::Watchdog::has_ended(const Task& task) const {
  const std::scoped_lock lock(mutex_);
  return task.has_ended;
}

bool NcclProcessGroup::Watchdog::has_work() const {
  const std::scoped_lock lock(mutex_);
  return asking_ > 0 || std::ranges::any_of(queue_, [](const auto& task) { return !task->has_ended; });
}

void NcclProcessGroup::Watchdog::wait_for_results_in(const comm::Buffer& host) {
  if (!host.device.is_cpu() || host.count == 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::ranges::none_of(queue_, [&](const auto& task) { return task->bounce.writes_to(host); });
  });
}

void NcclProcessGroup::Watchdog::wake() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    is_urgent_ = true;
  }
  changed_.notify_all();
}

void NcclProcessGroup::Watchdog::stop() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return asking_ == 0; });
  group_ = nullptr;
}

void NcclProcessGroup::Watchdog::watch() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !queue_.empty() || is_stopping_; });
    if (queue_.empty()) return;
    const std::shared_ptr<Task> task = queue_.front();
    lock.unlock();
    task->begin_time = std::chrono::steady_clock::now();
    for (const Call& call : task->calls) group_->begin(call);
    std::exception_ptr error;
    for (auto pause = kShortestPause; !look_at(*task, error); pause = std::min(2 * pause, kLongestPause)) {
      lock.lock();
      changed_.wait_for(lock, pause, [this] { return std::exchange(is_urgent_, false); });
      lock.unlock();
    }
    end(*task, error);
    lock.lock();
    queue_.pop_front();
    changed_.notify_all();
  }
}

bool NcclProcessGroup::Watchdog::look_at(const Task& task, std::exception_ptr& error) const noexcept {
  try {
    if ((error = group_->failure())) return true;
    if (task.done.is_complete()) return true;
    group_->communicator_->throw_if_failed();
    for (const Call& call : task.calls) {
      if (call.deadline.has_expired()) {
        throw TimeoutError(concat("not done within ", format_seconds(call.deadline.waited())));
      }
    }
    return false;
  } catch (...) {
    error = std::current_exception();
    return true;
  }
}

// After an abort the stream still runs. Buffers are safe only once it is idle.
void NcclProcessGroup::Watchdog::wait_until_idle() const noexcept {
  try {
    for (const auto deadline = Deadline::after(kIdleLimit); !group_->stream_.is_idle() && !deadline.has_expired();) {
      std::this_thread::sleep_for(kLongestPause);
    }
  } catch (const std::exception& error) {
    group_->context().log.warning(concat("the communication stream has failed: ", error.what()));
  }
}

void NcclProcessGroup::Watchdog::end(Task& task, std::exception_ptr error) noexcept {
  if (!error) task.bounce.deliver();
  if (!error) group_->record_span(task);
  for (const Call& call : task.calls) {
    const std::exception_ptr seen = group_->finish(call, error);  // fails the group, which aborts the communicator
    if (seen) error = seen;
  }
  if (error) wait_until_idle();
  {
    const std::scoped_lock lock(mutex_);
    for (Call& call : task.calls) {  // releases the buffers; waiting callers still need the fingerprints
      call.values.keep_alive.reset();
      call.input.keep_alive.reset();
      call.parts.clear();
    }
    if (!error) task.bounce.release();  // otherwise copies may still be in flight
    task.error = error;
    task.has_ended = true;
  }
  changed_.notify_all();
}

}  // namespace lockstep::nccl
