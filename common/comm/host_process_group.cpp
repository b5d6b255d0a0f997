#include "comm/host_process_group.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "trace/recorder.hpp"

namespace lockstep::comm {
namespace {

enum class Progress { kQueued, kRunning, kDone };

}  // namespace

// A queue of issued collectives, one running at a time: on the worker thread, or on the thread of a caller that
// synchronizes with the head of the queue. Shared with Work handles, which may outlive the group; `group` is used only
// while something is queued or running, and shutdown() leaves neither.
struct HostProcessGroup::Worker : std::enable_shared_from_this<HostProcessGroup::Worker> {
  struct Task;
  using TaskPointer = std::shared_ptr<Task>;

  explicit Worker(HostProcessGroup& owner) : group(owner) {}

  [[nodiscard]] bool may_run(const TaskPointer& task) const {
    return !is_running && !queue.empty() && queue.front() == task;
  }

  // Runs the head of the queue. The lock is free while the collective runs.
  void run_head(std::unique_lock<std::mutex>& lock);
  void work(std::unique_lock<std::mutex> lock);
  void join() noexcept;

  HostProcessGroup& group;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<TaskPointer> queue;
  bool is_running = false;
  bool is_stopping = false;
  std::thread thread;  // started by the first collective
};

struct HostProcessGroup::Worker::Task final : WorkState {
  Task(std::shared_ptr<Worker> owner, Call issued) : worker(std::move(owner)), call(std::move(issued)) {}

  void wait(Stream&) override { synchronize(); }

  void synchronize() override {
    std::unique_lock lock(worker->mutex);
    const auto self = worker->queue.empty() || worker->queue.front().get() != this ? nullptr : worker->queue.front();
    if (self && worker->may_run(self)) worker->run_head(lock);
    worker->changed.wait(lock, [this] { return progress == Progress::kDone; });
    if (error) std::rethrow_exception(error);
  }

  [[nodiscard]] bool is_completed() const override {
    const std::scoped_lock lock(worker->mutex);
    return progress == Progress::kDone;
  }

  std::shared_ptr<Worker> worker;
  Call call;
  Progress progress = Progress::kQueued;  // this and error: under worker->mutex
  std::exception_ptr error;
};

void HostProcessGroup::Worker::run_head(std::unique_lock<std::mutex>& lock) {
  const TaskPointer task = queue.front();
  is_running = true;
  task->progress = Progress::kRunning;
  lock.unlock();
  const std::exception_ptr error = group.run(task->call);
  task->call.values.keep_alive.reset();
  lock.lock();
  task->error = error;
  task->progress = Progress::kDone;
  queue.pop_front();
  is_running = false;
  changed.notify_all();
}

void HostProcessGroup::Worker::work(std::unique_lock<std::mutex> lock) {
  for (;;) {
    changed.wait(lock, [this] { return is_stopping || (!is_running && !queue.empty()); });
    if (!is_running && !queue.empty())
      run_head(lock);
    else if (queue.empty())
      return;
    else
      changed.wait(lock, [this] { return !is_running; });
  }
}

void HostProcessGroup::Worker::join() noexcept {
  {
    const std::scoped_lock lock(mutex);
    is_stopping = true;
  }
  changed.notify_all();
  if (thread.joinable()) thread.join();
}

HostProcessGroup::HostProcessGroup(JobContext context)
    : ProcessGroup(std::move(context)), worker_(std::make_shared<Worker>(*this)) {}

HostProcessGroup::~HostProcessGroup() { shutdown(); }

void HostProcessGroup::shutdown() noexcept {
  if (!worker_) return;
  // While an exception unwinds this rank, its peers may never enter what is queued here: do not wait for them.
  if (std::uncaught_exceptions() > 0 && !failure()) {
    try {
      bool has_work = false;
      {
        const std::scoped_lock lock(worker_->mutex);
        has_work = !worker_->queue.empty();
      }
      if (has_work) abort("it left with collectives in flight while handling an exception");
    } catch (const std::exception& error) {
      context().log.error(error.what());
    }
  }
  worker_->join();
  detach();
  worker_.reset();
}

std::exception_ptr HostProcessGroup::run(const Call& call) noexcept {
  if (const auto error = failure()) return error;  // fails what was queued behind the culprit
  begin(call);
  const auto begin_time = trace::Clock::now();
  std::exception_ptr error;
  try {
    switch (call.collective) {
      case Collective::kAllReduce:
        run_all_reduce(call);
        break;
      case Collective::kBroadcast:
        run_broadcast(call);
        break;
      case Collective::kBarrier:
        run_barrier(call);
        break;
    }
  } catch (...) {
    error = std::current_exception();
  }
  record(call, begin_time);
  return finish(call, error);
}

void HostProcessGroup::record(const Call& call, std::chrono::steady_clock::time_point begin_time) const {
  trace::Recorder* const recorder = this->recorder();
  if (recorder == nullptr) return;
  recorder->record(recorder->lane("communication"), describe(call.fingerprint()), trace::Category::kCommunication,
                   begin_time, trace::Clock::now());
}

Work HostProcessGroup::enqueue(const Call& call) {
  auto task = std::make_shared<Worker::Task>(worker_, call);
  {
    const std::scoped_lock lock(worker_->mutex);
    worker_->queue.push_back(task);
    if (!worker_->thread.joinable()) {
      worker_->thread = std::thread([worker = worker_.get()] { worker->work(std::unique_lock(worker->mutex)); });
    }
  }
  worker_->changed.notify_all();
  return Work(std::move(task));
}

Work HostProcessGroup::do_all_reduce(const Call& call) { return enqueue(call); }
Work HostProcessGroup::do_broadcast(const Call& call) { return enqueue(call); }
Work HostProcessGroup::do_barrier(const Call& call) { return enqueue(call); }

// A running collective fails by interrupt(); run() fails the queued ones.
void HostProcessGroup::do_abort() noexcept { interrupt(); }

}  // namespace lockstep::comm
