#pragma once
// The issued calls of a host backend that have not run yet. Internal to this module.
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/process_group_backend.hpp"
#include "comm/work.hpp"

namespace lockstep::comm {

// Runs calls in issue order, one at a time: on a worker thread, or on the thread of a caller that synchronizes with the
// head of the queue. The latter allocates nothing after the first few calls.
//
// Its Work handles may outlive it. Thread safety: one thread; handles from any thread.
class CallQueue {
 public:
  // Runs the calls of one add() and returns their error, if any. Must not throw. Never called concurrently, nor after
  // finish().
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
