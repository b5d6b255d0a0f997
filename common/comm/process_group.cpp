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

ProcessGroup::ProcessGroup(JobContext context)
    : context_(std::move(context)),
      next_send_(static_cast<std::size_t>(context_.world_size)),
      next_recv_(static_cast<std::size_t>(context_.world_size)),
      state_(std::make_unique<State>()) {
  if (context_.group_id)
    group_id_ = *context_.group_id;
  else if (context_.control)
    group_id_ = context_.control->next_group_id();
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
  const int global_rank = context_.global_rank(rank());
  const Failure told{FailureKind::kAborted, global_rank, concat("rank ", global_rank, " aborted: ", reason)};
  if (context_.control) context_.control->abort(told);
  fail(to_exception(told, concat("rank ", global_rank)));
}

void ProcessGroup::subscribe_to_failures() {
  if (!context_.control || state_->subscription) return;
  const std::string prefix = concat("rank ", context_.global_rank(rank()));
  state_->subscription =
      context_.control->subscribe([this, prefix](const Failure& failure) { fail(to_exception(failure, prefix)); });
}

void ProcessGroup::begin(const Call& call) noexcept {
  const Fingerprint fingerprint = call.fingerprint();
  if (context_.control && is_point_to_point(call.collective))
    context_.control->on_pair_started(group_id_, fingerprint);
  else if (context_.control)
    context_.control->on_started(group_id_, fingerprint);
  if (context_.flight_recorder) context_.flight_recorder->update(call.record, FlightState::kRunning);
}

std::exception_ptr ProcessGroup::finish(const Call& call, std::exception_ptr error) noexcept {
  std::exception_ptr seen;
  if (error) {
    seen = explain(call.fingerprint(), error);
    fail(seen);
  }
  if (context_.control && is_point_to_point(call.collective))
    context_.control->on_pair_ended(group_id_, call.fingerprint());
  else if (context_.control)
    context_.control->on_ended(group_id_);
  if (context_.flight_recorder) {
    context_.flight_recorder->update(call.record, error ? FlightState::kFailed : FlightState::kDone);
  }
  return seen;
}

void ProcessGroup::wait_until_agreed(const Call& call) const {
  if (!context_.control || compares_messages()) return;
  context_.control->wait_until_agreed(group_id_, call.fingerprint(), call.deadline);
}

void ProcessGroup::require_agreement() {
  if (last_collective_) require_agreement_on(*last_collective_, Deadline::after(context_.limits.progress));
}

void ProcessGroup::require_agreement_on(const Call& call) { require_agreement_on(call.fingerprint(), call.deadline); }

void ProcessGroup::require_agreement_on(const Fingerprint& call, const Deadline& deadline) {
  if (const auto error = failure()) std::rethrow_exception(error);
  if (!context_.control || compares_messages()) return;
  try {
    context_.control->wait_until_agreed(group_id_, call, deadline);
  } catch (const Error&) {
    const std::exception_ptr error = explain(call, std::current_exception());
    fail(error);
    std::rethrow_exception(error);
  }
}

// A broken connection says who is at its other end, not who is to blame: the control plane knows.
std::exception_ptr ProcessGroup::explain(const Fingerprint& call, const std::exception_ptr& error) const {
  const std::string prefix = concat("rank ", context_.global_rank(rank()), ": ", short_name(call));
  const std::exception_ptr own = with_context(error, prefix);
  if (!context_.control) return own;
  const auto deadline = Deadline::after(kVerdictLimit);
  std::shared_ptr<const Failure> verdict = context_.control->failure();
  if (!verdict && is_io_error(error)) verdict = context_.control->wait_for_failure(deadline);
  if (!verdict) {
    const Failure told = to_failure(error, context_.global_rank(rank()));
    const bool names_ranks = told.kind == FailureKind::kMismatch;
    context_.control->abort({told.kind, told.culprit, names_ranks ? told.message : concat(prefix, ": ", told.message)});
    if (told.kind != FailureKind::kAborted) verdict = context_.control->wait_for_failure(deadline);
  }
  return verdict ? to_exception(*verdict, prefix) : own;
}

}  // namespace lockstep::comm
