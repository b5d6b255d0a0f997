#include "comm/process_group_backend.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "comm/control/control_plane.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/host/call_error.hpp"
#include "comm/reduce.hpp"

namespace lockstep::comm {
namespace {

// How long a rank whose connection broke waits for the control plane to report which rank died.
constexpr std::chrono::milliseconds kVerdictLimit{2500};

bool is_reduction(Collective collective) noexcept {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

}  // namespace

struct ProcessGroupBackend::State {
  std::mutex mutex;
  std::exception_ptr failure;  // the first one; later ones are consequences
  std::atomic<bool> has_failed = false;
  std::optional<int> subscription;
};

ProcessGroupBackend::ProcessGroupBackend(JobContext job)
    : ProcessGroup(std::move(job)),
      next_send_(static_cast<std::size_t>(world_size())),
      next_recv_(static_cast<std::size_t>(world_size())),
      state_(std::make_unique<State>()) {
  if (context().group_id)
    group_id_ = *context().group_id;
  else if (context().control)
    group_id_ = context().control->next_group_id();
}

ProcessGroupBackend::~ProcessGroupBackend() {
  detach();
  if (context().control) context().control->forget_group(group_id_);
}

void ProcessGroupBackend::detach() noexcept {
  if (state_->subscription) context().control->unsubscribe(*state_->subscription);
  state_->subscription.reset();
}

std::exception_ptr ProcessGroupBackend::failure() const noexcept {
  if (!state_->has_failed) return nullptr;  // the usual case, without the lock
  const std::scoped_lock lock(state_->mutex);
  return state_->failure;
}

void ProcessGroupBackend::throw_if_failed() const {
  if (const auto error = failure()) std::rethrow_exception(error);
}

void ProcessGroupBackend::fail(std::exception_ptr error) noexcept {
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->failure) return;
    state_->failure = std::move(error);
    state_->has_failed = true;
  }
  do_abort();
}

std::shared_ptr<trace::Recorder> ProcessGroupBackend::record_to(std::shared_ptr<trace::Recorder> recorder) noexcept {
  return std::exchange(recorder_, std::move(recorder));
}

void ProcessGroupBackend::abort(const std::string& reason) {
  const int global_rank = context().global_rank(rank());
  const Failure told{FailureKind::kAborted, global_rank, concat("rank ", global_rank, " aborted: ", reason)};
  if (context().control) context().control->abort(told);
  fail(to_exception(told, concat("rank ", global_rank)));
}

void ProcessGroupBackend::subscribe_to_failures() {
  if (!context().control || state_->subscription) return;
  const std::string prefix = concat("rank ", context().global_rank(rank()));
  state_->subscription =
      context().control->subscribe([this, prefix](const Failure& failure) { fail(to_exception(failure, prefix)); });
}

Fingerprint ProcessGroup::Call::fingerprint() const noexcept {
  const bool has_values = collective != Collective::kBarrier;
  return {.sequence = sequence,
          .collective = collective,
          .op = op,
          .dtype = has_values ? values.dtype : DType::kUInt8,
          .root = root,
          .count = count,
          .tag = tag};
}

net::FrameHeader ProcessGroup::Call::header(int rank, int generation) const noexcept {
  Fingerprint sent = fingerprint();
  if (collective == Collective::kRecv) {  // the message is the peer's send() to this rank
    sent.collective = Collective::kSend;
    sent.root = rank;
  }
  return {.type = net::FrameType::kCollective,
          .generation = static_cast<std::uint32_t>(generation),
          .source_rank = rank,
          .sequence = sequence,
          .tag = to_tag(sent)};
}

void ProcessGroupBackend::require_movable(Device device) {
  require(device.is_cpu(), backend(), " does not move memory of ", device.name());
}

void ProcessGroupBackend::check(const Call& call) {
  const std::string_view name = name_of(call.collective);
  for (const Buffer* buffer : {&call.values, &call.input}) {
    require_movable(buffer->device);
    require(buffer->count >= 0, name, ": count is ", buffer->count);
    require(buffer->count == 0 || buffer->data != nullptr, name, ": data is null");
  }
  if (is_reduction(call.collective)) require_reducible(name, call.values.dtype);
  require(call.root >= 0 && call.root < world_size(), name, ": ",
          is_point_to_point(call.collective) ? "peer " : "root ", call.root, " is not a rank of a group of ",
          world_size());
}

std::uint64_t ProcessGroupBackend::next_number(const Call& call) {
  const auto peer = static_cast<std::size_t>(call.root);
  if (call.collective == Collective::kSend) return next_send_[peer]++;
  if (call.collective == Collective::kRecv) return next_recv_[peer]++;
  return next_sequence_++;
}

// The calls between group_start() and group_end(); shared with their Works.
struct ProcessGroupBackend::CallGroup {
  std::source_location where;  // of group_start()
  std::vector<Call> calls;
  std::string refused;  // the call that was waited for too early
  bool is_issued = false;
  Work work;  // once issued

  [[nodiscard]] std::string describe() const {
    const std::string_view path = where.file_name();
    return concat("the group of calls that begins at ", path.substr(path.rfind('/') + 1), ":", where.line());
  }
};

// One call of a group: waits for all of them.
class ProcessGroupBackend::GroupedWork final : public WorkState {
 public:
  GroupedWork(std::shared_ptr<CallGroup> group, const Fingerprint& call) : group_(std::move(group)), call_(call) {}

  void wait(Stream& stream) override { issued().wait(stream); }
  void synchronize() override { issued().synchronize(); }
  [[nodiscard]] bool is_completed() const override { return group_->is_issued && group_->work.is_completed(); }

 private:
  Work& issued() {
    if (group_->is_issued) return group_->work;
    group_->calls.clear();
    group_->refused = short_name(call_);
    throw ContractError(concat(group_->refused, " cannot be waited for: ", group_->describe(),
                               " is open, and none of its calls begins before group_end()"));
  }

  std::shared_ptr<CallGroup> group_;
  Fingerprint call_;
};

Work ProcessGroupBackend::issue(Call call, const CollectiveOptions& options, const std::source_location& where) {
  subscribe_to_failures();
  throw_if_failed();
  call.tag = CallTag(options.tag);
  check(call);
  call.sequence = next_number(call);
  call.stream = options.stream;
  call.deadline = options.deadline.value_or(Deadline::after(context().limits.progress));
  const Fingerprint fingerprint = call.fingerprint();
  if (context().control) context().control->note(group_id_, fingerprint, CallStep::kIssued);
  if (context().control && !compares_messages()) context().control->post(group_id_, fingerprint);
  if (context().flight_recorder) call.record = context().flight_recorder->add(group_id_, fingerprint, where);
  if (!is_point_to_point(call.collective)) last_collective_ = fingerprint;
  if (!open_group_) return do_issue({&call, 1}, options.run_on);
  open_group_->calls.push_back(std::move(call));
  return Work(std::make_shared<GroupedWork>(open_group_, fingerprint));
}

void ProcessGroupBackend::require_no_open_group(std::string_view call) const {
  if (!open_group_) return;
  throw ContractError(concat(call, " would wait for data that cannot come: ", open_group_->describe(),
                             " is open, and none of its calls begins before group_end()"));
}

void ProcessGroupBackend::open_group(const std::source_location& where) {
  if (open_group_) throw ContractError(concat("group_start: ", open_group_->describe(), " is open already"));
  open_group_ = std::make_shared<CallGroup>();
  open_group_->where = where;
}

Work ProcessGroupBackend::group_end() {
  require(open_group_ != nullptr, "group_end: no group of calls has been started");
  const std::shared_ptr<CallGroup> group = std::exchange(open_group_, nullptr);
  if (!group->refused.empty()) {
    throw ContractError(concat("group_end: ", group->describe(), " has been dropped, because ", group->refused,
                               " was waited for before its end"));
  }
  std::vector<Call> calls = std::exchange(group->calls, {});
  if (!calls.empty()) group->work = do_issue(calls, RunOn::kWorker);
  group->is_issued = true;
  return group->work;
}

void ProcessGroupBackend::begin(const Call& call) noexcept {
  if (context().control) context().control->note(group_id_, call.fingerprint(), CallStep::kStarted);
  if (context().flight_recorder) context().flight_recorder->update(call.record, FlightState::kRunning);
}

std::exception_ptr ProcessGroupBackend::finish(const Call& call, std::exception_ptr error) noexcept {
  std::exception_ptr seen;
  if (error) {
    seen = explain(call.fingerprint(), error);
    fail(seen);
  }
  if (context().control) context().control->note(group_id_, call.fingerprint(), CallStep::kEnded);
  if (context().flight_recorder) {
    context().flight_recorder->update(call.record, error ? FlightState::kFailed : FlightState::kDone);
  }
  return seen;
}

void ProcessGroupBackend::wait_until_agreed(const Call& call) const {
  if (!context().control || compares_messages()) return;
  context().control->wait_until_agreed(group_id_, call.fingerprint(), call.deadline);
}

void ProcessGroupBackend::require_agreement() {
  require_no_open_group("require_agreement");
  if (last_collective_) require_agreement_on(*last_collective_, Deadline::after(context().limits.progress));
}

void ProcessGroupBackend::require_agreement_on(const Call& call) {
  require_agreement_on(call.fingerprint(), call.deadline);
}

void ProcessGroupBackend::require_agreement_on(const Fingerprint& call, const Deadline& deadline) {
  throw_if_failed();
  if (!context().control || compares_messages()) return;
  try {
    context().control->wait_until_agreed(group_id_, call, deadline);
  } catch (const Error&) {
    const std::exception_ptr error = explain(call, std::current_exception());
    fail(error);
    std::rethrow_exception(error);
  }
}

// A broken connection identifies the rank at its other end, not the one at fault: the control plane knows that.
std::exception_ptr ProcessGroupBackend::explain(const Fingerprint& call, const std::exception_ptr& error) const {
  const std::string prefix = concat("rank ", context().global_rank(rank()), ": ", short_name(call));
  const std::exception_ptr own = with_context(error, prefix);
  if (!context().control) return own;
  const auto deadline = Deadline::after(kVerdictLimit);
  std::shared_ptr<const Failure> verdict = context().control->failure();
  if (!verdict && is_io_error(error)) verdict = context().control->wait_for_failure(deadline);
  if (!verdict) {
    const Failure told = to_failure(error, context().global_rank(rank()));
    const bool names_ranks = told.kind == FailureKind::kMismatch;
    context().control->abort(
        {told.kind, told.culprit, names_ranks ? told.message : concat(prefix, ": ", told.message)});
    if (told.kind != FailureKind::kAborted) verdict = context().control->wait_for_failure(deadline);
  }
  return verdict ? to_exception(*verdict, prefix) : own;
}

}  // namespace lockstep::comm
