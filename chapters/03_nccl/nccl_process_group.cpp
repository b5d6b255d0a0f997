#include "03_nccl/nccl_process_group.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "03_nccl/group/device_census.hpp"
#include "03_nccl/group/nccl_collectives.hpp"
#include "03_nccl/group/nccl_watchdog.hpp"
#include "base/error.hpp"
#include "trace/recorder.hpp"

namespace lockstep::nccl {
namespace {

using namespace std::chrono_literals;

constexpr auto kFinishLimit = 10s;

// The device of a rank that names none: on a host with several GPUs, the one of its local rank.
Device chosen_device(const NcclOptions& options, int local_rank) {
  if (!options.device.is_cpu()) return options.device;
  const Device first{accelerator_type(), 0};
  first.require_available();
  const std::string kind = first.type == DeviceType::kCuda ? "cuda" : "emulated";
  return Device::for_rank(kind, {.local_rank = local_rank, .share_gpu = options.share_gpu});
}

}  // namespace

NcclProcessGroup::NcclProcessGroup(comm::JobContext context, const NcclOptions& options)
    : ProcessGroupBackend(std::move(context)),
      options_(options),
      stream_(chosen_device(options, this->context().local_rank)) {
  const auto deadline = Deadline::after(this->context().limits.join);
  const std::string prefix = concat("generation/", this->context().generation, "/nccl/", group_id(), "/");
  const bool is_shared = exchange_device_ids(this->context(), prefix, device(), options_.share_gpu, deadline);
  const ncclUniqueId id = exchange_unique_id(this->context(), prefix, deadline);
  communicator_ = std::make_unique<Communicator>(this->context(), id, device(), is_shared, deadline);
  collectives_ = std::make_unique<NcclCollectives>(rank(), world_size(), stream_);
  watchdog_ = std::make_shared<Watchdog>(*this);
}

// Waits for tasks in flight, unless an exception unwinds this rank: its peers may never enter them.
NcclProcessGroup::~NcclProcessGroup() {
  const bool is_unwinding = std::uncaught_exceptions() > 0;
  if (is_unwinding && !failure() && watchdog_->has_work()) {
    abort("it left with collectives in flight while handling an exception");
  }
  watchdog_->stop();
  detach();
  if (!is_unwinding && !failure()) communicator_->finish(Deadline::after(kFinishLimit));
}

void NcclProcessGroup::require_movable(Device device) {
  require(device.is_cpu() || device == this->device(), "this group works with memory of ", this->device().name(),
          " and of the host, not of ", device.name());
}

comm::Work NcclProcessGroup::do_issue(std::span<Call> calls, comm::RunOn) {
  auto task = std::make_shared<Task>(watchdog_, device());
  std::ranges::move(calls, std::back_inserter(task->calls));
  auto deadline = Deadline::never();
  for (const Call& call : task->calls) deadline = deadline.earliest(call.deadline);
  try {
    order_after_producers(*task);
    bring_host_memory(*task);
    for (std::span<const Call> rest = task->calls; !rest.empty();) {
      const auto batch = rest.first(independent_calls(rest));
      communicator_->run(
          [&](ncclComm_t communicator) {
            for (const Call& call : batch) collectives_->enqueue(call, communicator);
          },
          deadline);
      for (const Call& call : batch) collectives_->finish_mean(call);
      rest = rest.subspan(batch.size());
    }
    task->bounce.send_back(stream_);
    task->done.record(stream_);
  } catch (const std::exception&) {
    std::rethrow_exception(watchdog_->refuse(*task, std::current_exception()));
  }
  watchdog_->add(task);
  return comm::Work(std::move(task));
}

// Number of calls, from the first, that share no memory. NCCL may run the calls of a group at the same time; our
// contract says that a call sees the results of the previous one.
std::size_t NcclProcessGroup::independent_calls(std::span<const Call> calls) {
  const auto overlap = [](const comm::Buffer& a, const comm::Buffer& b) {
    const auto *a_begin = static_cast<const std::byte*>(a.data), *b_begin = static_cast<const std::byte*>(b.data);
    return a_begin < b_begin + b.bytes() && b_begin < a_begin + a.bytes();
  };
  const auto results_of = [](const Call& call) {
    return call.parts.empty() ? std::span(&call.values, 1) : std::span(call.parts);
  };
  const auto touches = [&](const Call& call, const comm::Buffer& buffer) {
    return overlap(call.input, buffer) ||
           std::ranges::any_of(results_of(call), [&](const comm::Buffer& own) { return overlap(own, buffer); });
  };
  const auto changes = [&](const Call& writer, const Call& other) {
    return writer.collective != comm::Collective::kSend &&
           std::ranges::any_of(results_of(writer), [&](const comm::Buffer& result) { return touches(other, result); });
  };
  const auto depends = [&](const Call& later, const Call& earlier) {
    return changes(earlier, later) || changes(later, earlier);
  };
  std::size_t count = 1;
  while (count < calls.size() && std::ranges::none_of(calls.first(count), [&](const Call& earlier) {
           return depends(calls[count], earlier);
         })) {
    ++count;
  }
  return count;
}

// The communication stream waits for the streams that compute the buffers.
void NcclProcessGroup::order_after_producers(const Task& task) const {
  const Stream* last = nullptr;
  for (const Call& call : task.calls) {
    const Stream& producer = call.stream != nullptr ? *call.stream : current_stream(device());
    if (&producer != last) stream_.wait(producer);
    last = &producer;
  }
}

void NcclProcessGroup::bring_host_memory(Task& task) const {
  std::vector<HostBounce::Use> uses;
  for (Call& call : task.calls) {
    uses.push_back({&call.input, false});
    if (call.parts.empty()) uses.push_back({&call.values, call.collective != comm::Collective::kSend});
    for (comm::Buffer& part : call.parts) uses.push_back({&part, true});
  }
  for (const HostBounce::Use& use : uses) watchdog_->wait_for_results_in(*use.buffer);
  task.bounce.bring(std::move(uses), stream_);
}

void NcclProcessGroup::record_span(const Task& task) const {
  trace::Recorder* const recorder = this->recorder();
  if (recorder == nullptr) return;
  for (const Call& call : task.calls) {
    recorder->record(recorder->lane("communication"), comm::describe(call.fingerprint()),
                     trace::Category::kCommunication, task.begin_time, std::chrono::steady_clock::now());
  }
}

void NcclProcessGroup::do_abort() noexcept {
  communicator_->abort();
  watchdog_->wake();
}

std::unique_ptr<comm::ProcessGroup> NcclProcessGroup::do_split(comm::JobContext context) {
  NcclOptions options = options_;
  options.device = device();
  return make_nccl_process_group(std::move(context), options);
}

std::unique_ptr<comm::ProcessGroup> make_nccl_process_group(comm::JobContext context, const NcclOptions& options) {
  return std::make_unique<NcclProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::nccl
