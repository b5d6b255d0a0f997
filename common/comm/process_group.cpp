#include "comm/process_group.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "comm/control_plane.hpp"
#include "comm/flight_recorder.hpp"

namespace lockstep::comm {
namespace {

// How long a rank whose connection broke waits for the control plane to say who died.
constexpr std::chrono::milliseconds kVerdictLimit{900};

std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "unknown error";
  }
}

// The same error with `context` before its message.
std::exception_ptr with_context(const std::exception_ptr& error, const std::string& context) {
  try {
    std::rethrow_exception(error);
  } catch (const TimeoutError& timeout) {
    return std::make_exception_ptr(TimeoutError(concat(context, ": ", timeout.what())));
  } catch (const MismatchError& mismatch) {
    return std::make_exception_ptr(MismatchError(concat(context, ": ", mismatch.what())));
  } catch (const IoError& io) {
    return std::make_exception_ptr(IoError(concat(context, ": ", io.what())));
  } catch (const FormatError& format) {
    return std::make_exception_ptr(FormatError(concat(context, ": ", format.what())));
  } catch (...) {
    return error;
  }
}

// What the others are told about an error of this rank.
Failure to_failure(const std::exception_ptr& error, int rank) {
  try {
    std::rethrow_exception(error);
  } catch (const MismatchError& mismatch) {
    return {FailureKind::kMismatch, -1, mismatch.what()};
  } catch (const TimeoutError& timeout) {
    return {FailureKind::kTimeout, -1, timeout.what()};
  } catch (...) {
    return {FailureKind::kAborted, rank, what_of(error)};
  }
}

bool is_io_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const IoError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

struct ProcessGroup::State {
  std::mutex mutex;
  std::exception_ptr failure;  // the first; later ones follow from it
  std::atomic<bool> has_failed = false;
  std::optional<int> subscription;
};

Fingerprint ProcessGroup::Call::fingerprint() const noexcept {
  const bool has_values = collective != Collective::kBarrier;
  return {.sequence = sequence,
          .collective = collective,
          .op = op,
          .dtype = has_values ? values.dtype : DType::kUInt8,
          .root = root,
          .count = values.count};
}

ProcessGroup::ProcessGroup(JobContext context) : context_(std::move(context)), state_(std::make_unique<State>()) {
  if (context_.control) group_id_ = context_.control->next_group_id();
}

ProcessGroup::~ProcessGroup() { detach(); }

void ProcessGroup::detach() noexcept {
  if (state_->subscription) context_.control->unsubscribe(*state_->subscription);
  state_->subscription.reset();
}

std::exception_ptr ProcessGroup::failure() const noexcept {
  if (!state_->has_failed) return nullptr;  // the usual case, without the lock
  const std::scoped_lock lock(state_->mutex);
  return state_->failure;
}

void ProcessGroup::fail(std::exception_ptr error) noexcept {
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->failure) return;
    state_->failure = std::move(error);
    state_->has_failed = true;
  }
  do_abort();
}

void ProcessGroup::abort(const std::string& reason) {
  const Failure told{FailureKind::kAborted, rank(), concat("rank ", rank(), " aborted: ", reason)};
  if (context_.control) context_.control->abort(told);
  fail(to_exception(told, concat("rank ", rank())));
}

ProcessGroup::Call ProcessGroup::issue(Call call, const CollectiveOptions& options, const std::source_location& where) {
  if (context_.control && !state_->subscription) {
    const std::string prefix = concat("rank ", rank());
    state_->subscription =
        context_.control->subscribe([this, prefix](const Failure& failure) { fail(to_exception(failure, prefix)); });
  }
  if (const auto error = failure()) std::rethrow_exception(error);
  require(supports(call.values.device), backend(), " does not move memory of ", call.values.device.name());
  require(call.values.count >= 0, name_of(call.collective), ": count is ", call.values.count);
  require(call.values.count == 0 || call.values.data != nullptr, name_of(call.collective), ": data is null");
  call.sequence = next_sequence_++;
  call.stream = options.stream;
  call.deadline = options.deadline.value_or(Deadline::after(context_.limits.progress));
  const Fingerprint fingerprint = call.fingerprint();
  if (context_.control) context_.control->on_issued(group_id_, fingerprint);
  if (context_.flight_recorder) call.record = context_.flight_recorder->add(group_id_, fingerprint, where);
  return call;
}

void ProcessGroup::begin(const Call& call) noexcept {
  if (context_.control) context_.control->on_started(group_id_, call.fingerprint());
  if (context_.flight_recorder) context_.flight_recorder->update(call.record, FlightState::kRunning);
}

std::exception_ptr ProcessGroup::finish(const Call& call, std::exception_ptr error) noexcept {
  std::exception_ptr seen;
  if (error) {
    seen = explain(call, error);
    fail(seen);
  }
  if (context_.control) context_.control->on_ended(group_id_);
  if (context_.flight_recorder) {
    context_.flight_recorder->update(call.record, error ? FlightState::kFailed : FlightState::kDone);
  }
  return seen;
}

// A broken connection says who is at its other end, not who is to blame: the control plane knows.
std::exception_ptr ProcessGroup::explain(const Call& call, const std::exception_ptr& error) const {
  const std::string prefix = concat("rank ", rank(), ": ", short_name(call.fingerprint()));
  const std::exception_ptr own = with_context(error, prefix);
  if (!context_.control) return own;
  const auto deadline = Deadline::after(kVerdictLimit);
  std::shared_ptr<const Failure> verdict = context_.control->failure();
  if (!verdict && is_io_error(error)) verdict = context_.control->wait_for_failure(deadline);
  if (!verdict) {
    const Failure told = to_failure(error, rank());
    const bool names_ranks = told.kind == FailureKind::kMismatch;
    context_.control->abort({told.kind, told.culprit, names_ranks ? told.message : concat(prefix, ": ", told.message)});
    if (told.kind != FailureKind::kAborted) verdict = context_.control->wait_for_failure(deadline);
  }
  return verdict ? to_exception(*verdict, prefix) : own;
}

net::FrameHeader ProcessGroup::frame_header(const Call& call) const noexcept {
  return {.type = net::FrameType::kCollective,
          .generation = static_cast<std::uint32_t>(context_.generation),
          .source_rank = rank(),
          .sequence = call.sequence,
          .tag = to_tag(call.fingerprint())};
}

net::FrameLimits ProcessGroup::frame_limits(const Call& call) const noexcept {
  return {static_cast<std::uint64_t>(call.values.bytes()), static_cast<std::uint32_t>(context_.generation)};
}

void ProcessGroup::check_same_collective(const Call& call, const net::FrameHeader& received, int peer) const {
  const Fingerprint own = call.fingerprint();
  if (received.sequence == own.sequence && received.tag == to_tag(own)) return;
  throw MismatchError(concat("ranks called different collectives: rank ", rank(), " ", describe(own), ", rank ", peer,
                             " ", describe(from_tag(received.sequence, received.tag))));
}

Work ProcessGroup::all_reduce(Buffer values, ReduceOp op, const CollectiveOptions& options,
                              std::source_location where) {
  Call call{.collective = Collective::kAllReduce, .values = std::move(values), .op = op};
  return do_all_reduce(issue(std::move(call), options, where));
}

Work ProcessGroup::broadcast(Buffer values, int root, const CollectiveOptions& options, std::source_location where) {
  require(root >= 0 && root < world_size(), "broadcast: root ", root, " is not a rank of a group of ", world_size());
  Call call{.collective = Collective::kBroadcast, .values = std::move(values), .root = root};
  return do_broadcast(issue(std::move(call), options, where));
}

Work ProcessGroup::barrier(const CollectiveOptions& options, std::source_location where) {
  return do_barrier(issue(Call{}, options, where));
}

std::shared_ptr<Storage> ProcessGroup::allocate(std::size_t bytes, Device device) {
  return Storage::allocate(bytes, device);
}

}  // namespace lockstep::comm
