#pragma once
// The tasks in flight on a group's stream, and the thread that watches them. Internal to this chapter.
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
  Event done;  // recorded after all of it, on the group's stream
  std::chrono::steady_clock::time_point begin_time;
  bool has_ended = false;  // guarded by the watchdog's mutex, like `error`
  std::exception_ptr error;
};

// Tasks end in the order of issue, as the stream runs them. The watchdog reports each end to the control plane, copies
// results to host memory, releases buffers, and turns failures into errors that name the rank at fault.
class NcclProcessGroup::Watchdog {
 public:
  explicit Watchdog(NcclProcessGroup& group) : group_(&group) {}

  // Takes a task whose operations are enqueued.
  void add(std::shared_ptr<Task> task);
  // Takes a task that could not be enqueued. Returns the error for the caller.
  std::exception_ptr refuse(Task& task, const std::exception_ptr& error);
  // Blocks until the task has ended and the ranks are known to agree on it. Throws its error.
  void wait_for(Task& task);
  [[nodiscard]] bool has_ended(const Task& task) const;
  // Whether a task is in flight, or a thread in wait_for() does not know yet whether the ranks agree.
  [[nodiscard]] bool has_work() const;
  // Blocks until no task in flight will write to this host memory; otherwise it would be copied too early.
  void wait_for_results_in(const comm::Buffer& host);
  // Polls at once, after a failure.
  void wake() noexcept;
  // Waits for everything in flight and for other threads in wait_for(), and ends the thread. Work handles that outlive
  // the group no longer use it.
  void stop() noexcept;

 private:
  friend struct Task;
  void watch() noexcept;
  // Whether the task has ended; sets `error`.
  bool look_at(const Task& task, std::exception_ptr& error) const noexcept;
  void end(Task& task, std::exception_ptr error) noexcept;
  void wait_until_idle() const noexcept;

  NcclProcessGroup* group_;  // null once stopped; stop() waits for `asking_` threads
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Task>> queue_;
  int asking_ = 0;  // threads in wait_for() that use the group
  bool is_stopping_ = false;
  bool is_urgent_ = false;
  std::thread thread_;  // started by the first task
};

}  // namespace lockstep::nccl
