#include "comm/host/host_process_group.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/host/call_queue.hpp"
#include "comm/host/device_staging.hpp"
#include "comm/host/direct_collectives.hpp"
#include "trace/recorder.hpp"

namespace lockstep::comm {
namespace {

// A call's limit counts from its issue. Tells how much of it had passed when the call began, if that is a good part.
std::exception_ptr with_time_in_queue(const std::exception_ptr& error, const Deadline& deadline,
                                      trace::Clock::time_point begin_time) {
  const std::chrono::nanoseconds waited = deadline.waited(), queued = waited - (trace::Clock::now() - begin_time);
  if (10 * queued < waited) return error;
  try {
    std::rethrow_exception(error);
  } catch (const TimeoutError& late) {
    return std::make_exception_ptr(TimeoutError(
        concat(late.what(), "; the first ", format_seconds(queued), " were before its turn in the group's queue")));
  } catch (...) {
    return error;
  }
}

}  // namespace

HostProcessGroup::HostProcessGroup(JobContext context)
    : ProcessGroupBackend(std::move(context)),
      queue_(std::make_unique<CallQueue>([this](std::span<const Call> calls) { return run(calls); })) {}

HostProcessGroup::~HostProcessGroup() { shutdown(); }

void HostProcessGroup::shutdown() noexcept {
  if (!queue_) return;
  // While an exception unwinds this rank, its peers may never enter the queued calls: do not wait for them.
  if (std::uncaught_exceptions() > 0 && !failure()) {
    try {
      if (queue_->has_work()) abort("it left with collectives in flight while handling an exception");
    } catch (const std::exception& error) {
      context().log.error(error.what());
    }
  }
  queue_->finish();
  detach();
  queue_.reset();
}

void HostProcessGroup::use(std::unique_ptr<Transport> transport, std::int64_t segment_bytes) {
  messages_ = std::make_unique<CallMessages>(context(), std::move(transport), segment_bytes);
}

Traffic HostProcessGroup::traffic_sent() const { return messages_ ? messages_->sent() : Traffic{}; }

void HostProcessGroup::interrupt() noexcept {
  if (messages_) messages_->interrupt();
}

std::exception_ptr HostProcessGroup::run(std::span<const Call> calls) noexcept {
  std::exception_ptr first_error;
  if (messages_) messages_->record_to(recorder());
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
  if (const auto error = failure()) return error;  // fails calls queued after the failed one
  begin(call);
  const auto begin_time = trace::Clock::now();
  std::exception_ptr error;
  const auto check = [this] { throw_if_failed(); };
  try {
    wait_until_agreed(call);  // before a byte moves: mismatched data could corrupt the other end
    if (call.staging) call.staging->arrive(call.deadline, check);
    call.parts.empty() ? dispatch(call) : run_coalesced(call);
    if (world_size() > 1) messages_->flush(call);
    if (call.staging) call.staging->send_back(call.deadline, check);
  } catch (...) {
    error = with_time_in_queue(std::current_exception(), call.deadline, begin_time);
  }
  record(call, begin_time);
  return finish(call, error);
}

// All sends are queued before the first message is received, and progress while this rank waits.
std::exception_ptr HostProcessGroup::run_messages(std::span<const Call> calls) noexcept {
  if (const auto error = failure()) return error;
  const auto begin_time = trace::Clock::now();
  for (const Call& call : calls) begin(call);
  const Call* current = &calls.front();
  const Call* next_recv = current;  // recvs before it have got their data
  const auto check = [this] { throw_if_failed(); };
  std::exception_ptr error;
  try {
    for (const Call& call : calls) {
      current = &call;
      if (call.staging) call.staging->arrive(call.deadline, check);
      if (call.collective == Collective::kSend) messages_->send_segments(call, call.root, bytes_of(call.values));
    }
    for (const Call& call : calls) {
      current = &call;
      if (call.collective == Collective::kRecv) messages_->receive_segments(call, call.root, bytes_of(call.values));
      next_recv = current + 1;  // the next call
    }
    messages_->flush(*current);
    for (const Call& call : calls) {
      if (call.staging) call.staging->send_back(call.deadline, check);
    }
  } catch (...) {
    error = std::current_exception();
  }
  std::exception_ptr seen;
  for (const Call& call : calls) {
    record(call, begin_time);
    const std::exception_ptr of_call = finish(call, error && &call == current ? error : nullptr);
    if (of_call) seen = of_call;
    const bool is_done = !error || (call.collective == Collective::kRecv && &call < next_recv);
    if (!is_done && context().flight_recorder) context().flight_recorder->update(call.record, FlightState::kFailed);
  }
  return seen;
}

void HostProcessGroup::run_gather(const Call& call) { gather_directly(messages(), call); }

void HostProcessGroup::run_scatter(const Call& call) { scatter_directly(messages(), call); }

void HostProcessGroup::run_all_to_all(const Call& call) { all_to_all_directly(messages(), call); }

void HostProcessGroup::dispatch(const Call& call) {
  if (world_size() == 1) return copy_bytes(bytes_of(call.values), bytes_of(call.input));
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
  if (messages_) messages_->flush(call);
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

void HostProcessGroup::require_movable(Device device) {
  if (device.is_cpu()) return;
  if (!staging_streams_) staging_streams_ = std::make_shared<StagingStreams>(device);
  require(staging_streams_->to_host.device() == device, "this group works with memory of ",
          staging_streams_->to_host.device().name(), ", not of ", device.name(), "; use one group per device");
}

// The copies to the host are issued at once, so that they overlap with the caller's next work.
void HostProcessGroup::stage(Call& call) {
  const Buffer& any = call.parts.empty() ? call.values : call.parts.front();
  const Device device = any.device.is_cpu() ? call.input.device : any.device;
  if (device.is_cpu()) return;
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
  return queue_->add(calls, run_on);
}

// A running collective fails by interrupt(); run_one() fails the queued ones.
void HostProcessGroup::do_abort() noexcept { interrupt(); }

}  // namespace lockstep::comm
