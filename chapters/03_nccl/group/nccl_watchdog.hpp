#pragma once
// What is in flight on a group's stream, and the thread that looks after it. Private to the chapter.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "03_nccl/group/host_bounce.hpp"
#include "03_nccl/nccl_process_group.hpp"

namespace lockstep::nccl {

struct NcclProcessGroup::Task final : comm::WorkState {
  Task(std::shared_ptr<Watchdog> watchdog_, Device device) : watchdog(std::move(watchdog_)), done(device) {}

  void wait(Stream& stream) override;
  void synchronize() override;
  [[nodiscard]] bool is_completed() const override;

  std::shared_ptr<Watchdog> watchdog;
  std::vector<Call> calls;
  HostBounce bounce;
  Event done;  // behind all of it, on the group's stream
  std::chrono::steady_clock::time_point begin_time;
  bool has_ended = false;  // this and error: under the watchdog's mutex
  std::exception_ptr error;
};

// Tasks end in the order of their issue, as the stream runs them. The watchdog says so to the control plane, hands
// host memory back, lets go of buffers, and turns what goes wrong into the error that names the culprit.
class NcclProcessGroup::Watchdog {
 public:
  explicit Watchdog(NcclProcessGroup& group) : group_(&group) {}

  // A task whose operations stand in the stream.
  void add(std::shared_ptr<Task> task);
  // A task that could not be enqueued. Returns the error as the caller shall see it.
  std::exception_ptr refuse(Task& task, const std::exception_ptr& error);
  // Blocks until the task has ended; then until ranks are known to agree on it. Throws its error.
  void wait_for(Task& task);
  [[nodiscard]] bool has_ended(const Task& task) const;
  [[nodiscard]] bool has_work() const;
  // Blocks until no task in flight will write to this host memory any more: it would be copied too early.
  void wait_for_results_in(const comm::Buffer& host);
  // Something has failed: look at once.
  void wake() noexcept;
  // Waits for everything in flight and ends the thread. Work handles that outlive the group no longer reach it.
  void stop() noexcept;

 private:
  friend struct Task;
  void watch() noexcept;
  // Whether it has ended; sets `error`.
  bool look_at(const Task& task, std::exception_ptr& error) const noexcept;
  void end(Task& task, std::exception_ptr error) noexcept;
  void wait_until_idle() const noexcept;

  NcclProcessGroup* group_;  // null once stopped
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> queue_;
  bool is_stopping_ = false;
  bool is_urgent_ = false;
  std::thread thread_;  // started by the first task
};

}  // namespace lockstep::nccl
