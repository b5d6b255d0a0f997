#pragma once
// The calls that a host backend has issued and not yet run. Private to the module.
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/process_group_backend.hpp"
#include "comm/work.hpp"

namespace lockstep::comm {

// Runs issued calls in the order of their issue, one at a time: on a worker thread, or on the thread of a caller that
// synchronizes with the head of the queue. The latter allocates nothing once a few calls have been made.
//
// Its Work handles may outlive it. Thread safety: one thread; the handles from any.
class CallQueue {
 public:
  // Runs the calls of one add() and says how they ended. Must not throw. Never two at a time, and none after finish().
  using Runner = std::function<std::exception_ptr(std::span<const ProcessGroup::Call>)>;

  explicit CallQueue(Runner run);
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;
  ~CallQueue();

  // calls: one call, or several that are issued together; moved from.
  Work add(std::span<ProcessGroup::Call> calls, RunOn run_on);
  // Whether anything is queued or running.
  [[nodiscard]] bool has_work() const;
  // Waits until everything has run, and ends the worker thread.
  void finish() noexcept;

 private:
  struct Worker;
  struct Task;
  [[nodiscard]] std::shared_ptr<Task> unused_task();

  std::shared_ptr<Worker> worker_;
  std::vector<std::shared_ptr<Task>> tasks_;  // reused once their Work is gone
};

}  // namespace lockstep::comm
