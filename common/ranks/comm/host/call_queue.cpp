#include "comm/host/call_queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace lockstep::comm {
namespace {

enum class TaskState { kQueued, kRunning, kDone };

}  // namespace

// Shared with Work handles, which may outlive the queue; `run` is used only while a call is queued or running, which is
// not the case after finish().
struct CallQueue::Worker {
  explicit Worker(Runner runner) : run(std::move(runner)) {}

  void add(std::shared_ptr<Task> task, RunOn run_on);
  // Runs the head of the queue. The lock is released while the collective runs.
  void run_head(std::unique_lock<std::mutex>& lock);
  void work();
  void finish() noexcept;
  [[nodiscard]] bool can_run() const { return !is_running && !queue.empty(); }

  const Runner run;
  std::mutex mutex;
  std::condition_variable work_available;  // only the worker thread waits for it
  std::condition_variable task_done;
  std::deque<std::shared_ptr<Task>> queue;
  bool is_running = false;
  bool is_stopping = false;
  std::thread thread;  // started by the first call that needs it
};

struct CallQueue::Task final : WorkState {
  explicit Task(std::shared_ptr<Worker> owner) : worker(std::move(owner)) {}

  void wait(Stream&) override { synchronize(); }

  void synchronize() override {
    std::unique_lock lock(worker->mutex);
    if (worker->can_run() && worker->queue.front().get() == this) worker->run_head(lock);
    worker->task_done.wait(lock, [this] { return state == TaskState::kDone; });
    if (error) std::rethrow_exception(error);
  }

  [[nodiscard]] bool is_completed() const override {
    const std::scoped_lock lock(worker->mutex);
    return state == TaskState::kDone;
  }

  std::shared_ptr<Worker> worker;
  std::vector<ProcessGroup::Call> calls;
  TaskState state = TaskState::kQueued;  // this and error: guarded by worker->mutex
  std::exception_ptr error;
};

void CallQueue::Worker::add(std::shared_ptr<Task> task, RunOn run_on) {
  const std::scoped_lock lock(mutex);
  queue.push_back(std::move(task));
  // A deferred call waits for its caller, or for the next call; after that, its caller may never wait for it.
  if (run_on == RunOn::kCaller && queue.size() == 1) return;
  if (!thread.joinable()) thread = std::thread([this] { work(); });
  work_available.notify_one();
}

void CallQueue::Worker::run_head(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Task> task = queue.front();
  is_running = true;
  task->state = TaskState::kRunning;
  lock.unlock();
  const std::exception_ptr error = run(task->calls);
  task->calls.clear();  // releases the buffers
  lock.lock();
  task->error = error;
  task->state = TaskState::kDone;
  queue.pop_front();
  is_running = false;
  task_done.notify_all();
  if (!queue.empty() || is_stopping) work_available.notify_one();
}

void CallQueue::Worker::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    work_available.wait(lock, [this] { return can_run() || (is_stopping && queue.empty()); });
    if (queue.empty()) return;
    run_head(lock);
  }
}

void CallQueue::Worker::finish() noexcept {
  {
    std::unique_lock lock(mutex);
    is_stopping = true;
    task_done.wait(lock, [this] { return !is_running || thread.joinable(); });  // a caller may be running the head
    while (!thread.joinable() && can_run()) run_head(lock);                     // deferred, and nobody waited for it
  }
  work_available.notify_one();
  if (thread.joinable()) thread.join();
}

CallQueue::CallQueue(Runner run) : worker_(std::make_shared<Worker>(std::move(run))) {}

CallQueue::~CallQueue() { finish(); }

Work CallQueue::add(std::span<ProcessGroup::Call> calls, RunOn run_on) {
  std::shared_ptr<Task> task = unused_task();
  std::ranges::move(calls, std::back_inserter(task->calls));
  worker_->add(task, run_on);
  return Work(std::move(task));
}

std::shared_ptr<CallQueue::Task> CallQueue::unused_task() {
  const auto is_unused = [](const std::shared_ptr<Task>& task) { return task.use_count() == 1; };
  if (const auto unused = std::ranges::find_if(tasks_, is_unused); unused != tasks_.end()) {
    const std::scoped_lock lock(worker_->mutex);  // waits for its last user
    (*unused)->state = TaskState::kQueued;
    (*unused)->error = nullptr;
    return *unused;
  }
  auto task = std::make_shared<Task>(worker_);
  constexpr std::size_t kKeptTasks = 8;
  if (tasks_.size() < kKeptTasks) tasks_.push_back(task);
  return task;
}

bool CallQueue::has_work() const {
  const std::scoped_lock lock(worker_->mutex);
  return !worker_->queue.empty();
}

void CallQueue::finish() noexcept { worker_->finish(); }

}  // namespace lockstep::comm
