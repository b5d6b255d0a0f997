#include "comm/host/host_process_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/host/device_staging.hpp"
#include "trace/recorder.hpp"

namespace lockstep::comm {
namespace {

enum class TaskState { kQueued, kRunning, kDone };

}  // namespace

// A queue of issued calls, one running at a time: on the worker thread, or on the thread of a caller that synchronizes
// with the head of the queue. Shared with Work handles, which may outlive the group; `group` is used only while
// something is queued or running, and shutdown() leaves neither.
struct HostProcessGroup::Worker {
  explicit Worker(HostProcessGroup& owner) : group(owner) {}

  void add(std::shared_ptr<Task> task, RunOn run_on);
  // Runs the head of the queue. The lock is free while the collective runs.
  void run_head(std::unique_lock<std::mutex>& lock);
  void work();
  void finish() noexcept;
  [[nodiscard]] bool has_work() const { return !is_running && !queue.empty(); }

  HostProcessGroup& group;
  std::mutex mutex;
  std::condition_variable work_available;  // only the worker thread waits for it
  std::condition_variable task_done;
  std::deque<std::shared_ptr<Task>> queue;
  bool is_running = false;
  bool is_stopping = false;
  std::thread thread;  // started by the first call that needs it
};

struct HostProcessGroup::Task final : WorkState {
  explicit Task(std::shared_ptr<Worker> owner) : worker(std::move(owner)) {}

  void wait(Stream&) override { synchronize(); }

  void synchronize() override {
    std::unique_lock lock(worker->mutex);
    if (worker->has_work() && worker->queue.front().get() == this) worker->run_head(lock);
    worker->task_done.wait(lock, [this] { return state == TaskState::kDone; });
    if (error) std::rethrow_exception(error);
  }

  [[nodiscard]] bool is_completed() const override {
    const std::scoped_lock lock(worker->mutex);
    return state == TaskState::kDone;
  }

  std::shared_ptr<Worker> worker;
  std::vector<Call> calls;
  TaskState state = TaskState::kQueued;  // this and error: under worker->mutex
  std::exception_ptr error;
};

void HostProcessGroup::Worker::add(std::shared_ptr<Task> task, RunOn run_on) {
  const std::scoped_lock lock(mutex);
  queue.push_back(std::move(task));
  // A deferred call waits for its caller, or for the next call: then nobody may come for it.
  if (run_on == RunOn::kCaller && queue.size() == 1) return;
  if (!thread.joinable()) thread = std::thread([this] { work(); });
  work_available.notify_one();
}

void HostProcessGroup::Worker::run_head(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Task> task = queue.front();
  is_running = true;
  task->state = TaskState::kRunning;
  lock.unlock();
  const std::exception_ptr error = group.run(task->calls);
  task->calls.clear();  // lets go of the buffers
  lock.lock();
  task->error = error;
  task->state = TaskState::kDone;
  queue.pop_front();
  is_running = false;
  task_done.notify_all();
  if (!queue.empty()) work_available.notify_one();
}

void HostProcessGroup::Worker::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    work_available.wait(lock, [this] { return has_work() || (is_stopping && queue.empty()); });
    if (queue.empty()) return;
    run_head(lock);
  }
}

void HostProcessGroup::Worker::finish() noexcept {
  {
    std::unique_lock lock(mutex);
    is_stopping = true;
    while (!thread.joinable() && has_work()) run_head(lock);  // deferred, and nobody came for it
  }
  work_available.notify_one();
  if (thread.joinable()) thread.join();
}

HostProcessGroup::HostProcessGroup(JobContext context)
    : ProcessGroupBackend(std::move(context)), worker_(std::make_shared<Worker>(*this)) {}

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
  worker_->finish();
  detach();
  worker_.reset();
}

std::exception_ptr HostProcessGroup::run(std::span<const Call> calls) noexcept {
  std::exception_ptr first_error;
  while (!calls.empty()) {
    const auto other = std::ranges::find_if_not(calls, [](const Call& c) { return is_point_to_point(c.collective); });
    const auto messages = calls.first(static_cast<std::size_t>(other - calls.begin()));
    const std::exception_ptr error = messages.empty() ? run_one(calls.front()) : run_messages(messages);
    if (!first_error) first_error = error;
    calls = calls.subspan(std::max<std::size_t>(messages.size(), 1));
  }
  return first_error;
}

std::exception_ptr HostProcessGroup::run_one(const Call& call) noexcept {
  if (const auto error = failure()) return error;  // fails what was queued behind the culprit
  begin(call);
  const auto begin_time = trace::Clock::now();
  std::exception_ptr error;
  const auto check = [this] { throw_if_failed(); };
  try {
    wait_until_agreed(call);  // before a byte moves: what does not fit could harm the other end
    if (call.staging) call.staging->arrive(call.deadline, check);
    call.parts.empty() ? dispatch(call) : run_coalesced(call);
    if (world_size() > 1) transport_->flush(call.deadline);
    if (call.staging) call.staging->send_back(call.deadline, check);
  } catch (...) {
    error = std::current_exception();
  }
  record(call, begin_time);
  return finish(call, error);
}

void HostProcessGroup::dispatch(const Call& call) {
  switch (call.collective) {
    case Collective::kAllReduce:
      return run_all_reduce(call);
    case Collective::kBroadcast:
      return run_broadcast(call);
    case Collective::kBarrier:
      return run_barrier(call);
    case Collective::kReduce:
      return run_reduce(call);
    case Collective::kAllGather:
      return run_all_gather(call);
    case Collective::kReduceScatter:
      return run_reduce_scatter(call);
    case Collective::kGather:
      return run_gather(call);
    case Collective::kScatter:
      return run_scatter(call);
    case Collective::kAllToAll:
      return run_all_to_all(call);
    case Collective::kSend:
    case Collective::kRecv:
      break;  // run_messages()
  }
}

void HostProcessGroup::run_coalesced(const Call& call) {
  std::span<std::byte> staged = bytes_of(call.values);
  for (const Buffer& part : call.parts) {
    copy_bytes(staged.first(bytes_of(part).size()), bytes_of(part));
    staged = staged.subspan(bytes_of(part).size());
  }
  dispatch(call);
  flush(call);
  staged = bytes_of(call.values);
  for (const Buffer& part : call.parts) {
    copy_bytes(bytes_of(part), staged.first(bytes_of(part).size()));
    staged = staged.subspan(bytes_of(part).size());
  }
}

void HostProcessGroup::record(const Call& call, std::chrono::steady_clock::time_point begin_time) const {
  trace::Recorder* const recorder = this->recorder();
  if (recorder == nullptr) return;
  recorder->record(recorder->lane("communication"), describe(call.fingerprint()), trace::Category::kCommunication,
                   begin_time, trace::Clock::now());
}

std::shared_ptr<HostProcessGroup::Task> HostProcessGroup::unused_task() {
  const auto is_unused = [](const std::shared_ptr<Task>& task) { return task.use_count() == 1; };
  if (const auto unused = std::ranges::find_if(tasks_, is_unused); unused != tasks_.end()) {
    const std::scoped_lock lock(worker_->mutex);  // after whoever used it last
    (*unused)->state = TaskState::kQueued;
    (*unused)->error = nullptr;
    return *unused;
  }
  auto task = std::make_shared<Task>(worker_);
  constexpr std::size_t kKeptTasks = 8;
  if (tasks_.size() < kKeptTasks) tasks_.push_back(task);
  return task;
}

// The copies to the host are issued at once, so that they overlap with what the caller issues next.
void HostProcessGroup::stage(Call& call) {
  const Buffer& any = call.parts.empty() ? call.values : call.parts.front();
  const Device device = any.device.is_cpu() ? call.input.device : any.device;
  if (device.is_cpu()) return;
  if (!staging_streams_) staging_streams_ = std::make_shared<StagingStreams>(device);
  require(staging_streams_->to_host.device() == device, "a group stages the memory of one device, ",
          staging_streams_->to_host.device().name(), ", not of ", device.name());
  const Stream& producer = call.stream != nullptr ? *call.stream : current_stream(device);
  call.staging = std::make_shared<DeviceStaging>(staging_streams_);
  using Content = DeviceStaging::Content;
  const auto stage_one = [&](Buffer& buffer, Content content) {
    if (!buffer.device.is_cpu()) call.staging->stage(buffer, producer, content);
  };
  stage_one(call.values, call.parts.empty() ? Content::kInOut : Content::kRoom);
  stage_one(call.input, Content::kIn);
  for (Buffer& part : call.parts) stage_one(part, Content::kInOut);
}

Work HostProcessGroup::do_issue(std::span<Call> calls, RunOn run_on) {
  for (Call& call : calls) stage(call);
  std::shared_ptr<Task> task = unused_task();
  std::ranges::move(calls, std::back_inserter(task->calls));
  worker_->add(task, run_on);
  return Work(std::move(task));
}

// A running collective fails by interrupt(); run_one() fails the queued ones.
void HostProcessGroup::do_abort() noexcept { interrupt(); }

}  // namespace lockstep::comm
