#include "comm/control_member.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "net/handshake.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto kGoodbyeLimit = 1s;

JobContext without_shared_parts(JobContext context) {
  context.store.reset();
  context.control.reset();
  context.flight_recorder.reset();
  return context;
}

net::TcpSocket connect_to_hub(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline) {
  const net::Identity identity{net::Role::kControl, static_cast<std::uint32_t>(context.generation), context.rank, 0};
  return net::connect_authenticated(hub, context.token, identity, "rank 0's control plane", deadline);
}

}  // namespace

ControlPlane::Member::Member(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline)
    : context_(without_shared_parts(context)),
      stream_(connect_to_hub(context, hub, deadline),
              {kMaxControlBytes, static_cast<std::uint32_t>(context.generation)}),
      last_heard_(Clock::now()),
      last_sent_(last_heard_),
      last_step_(last_heard_),
      wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_up_.is_open()) throw IoError("eventfd", errno);
  thread_ = std::thread([this] { run(); });
}

ControlPlane::Member::~Member() { leave(); }

void ControlPlane::Member::wake() noexcept { ::eventfd_write(wake_up_.get(), 1); }

int ControlPlane::Member::next_group_id() noexcept {
  const std::scoped_lock lock(mutex_);
  return next_group_id_++;
}

void ControlPlane::Member::on_issued(int group, const Fingerprint& fingerprint) noexcept {
  const std::scoped_lock lock(mutex_);
  groups_[group].issued = fingerprint;
}

void ControlPlane::Member::on_started(int group, const Fingerprint& fingerprint) noexcept {
  const std::scoped_lock lock(mutex_);
  Group& entry = groups_[group];
  entry.running = fingerprint;
  entry.running_since = Clock::now();
  entry.is_reported = false;
}

void ControlPlane::Member::on_ended(int group) noexcept {
  const std::scoped_lock lock(mutex_);
  groups_[group].running.reset();
}

void ControlPlane::Member::abort(const Failure& failure) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    outbox_.push_back({ControlType::kAbort, status_locked(), failure});
  }
  wake();
}

std::shared_ptr<const Failure> ControlPlane::Member::failure() const noexcept {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

std::shared_ptr<const Failure> ControlPlane::Member::wait_for_failure(const Deadline& deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.when(), [this] { return failure_ != nullptr || has_ended_; });
  return failure_;
}

void ControlPlane::Member::wait_until_ready(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_decided = [this] { return is_ready_ || failure_ != nullptr; };
  if (!changed_.wait_until(lock, deadline.when(), is_decided)) {
    throw TimeoutError(concat("rank ", context_.rank, ": not all ranks connected to the control plane within ",
                              format_seconds(deadline.waited())));
  }
  if (!is_ready_) std::rethrow_exception(to_exception(*failure_, concat("rank ", context_.rank, ": joining")));
}

int ControlPlane::Member::subscribe(FailureCallback on_failure) {
  const std::scoped_lock callback_lock(callback_mutex_);
  if (const auto known = failure())
    on_failure(*known);
  else
    callbacks_[next_subscription_] = std::move(on_failure);
  return next_subscription_++;
}

void ControlPlane::Member::unsubscribe(int subscription) noexcept {
  const std::scoped_lock lock(callback_mutex_);
  callbacks_.erase(subscription);
}

void ControlPlane::Member::learn(const Failure& failure) {
  const std::scoped_lock callback_lock(callback_mutex_);
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) return;
    failure_ = std::make_shared<const Failure>(failure);
  }
  changed_.notify_all();
  for (const auto& [subscription, on_failure] : callbacks_) on_failure(failure);
  callbacks_.clear();
}

RankStatus ControlPlane::Member::status_locked() const {
  RankStatus status;
  for (const auto& [id, group] : groups_) {
    GroupStatus& entry = status[id];
    entry.issued = group.issued;
    entry.running = group.running;
    if (!group.running) continue;
    entry.running_for = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - group.running_since);
  }
  return status;
}

void ControlPlane::Member::run() noexcept {
  for (;;) {
    try {
      {
        const std::scoped_lock lock(mutex_);
        if (is_leaving_) break;
      }
      step();
    } catch (const IoError&) {  // the hub's end closed: rank 0's process is gone
      is_hub_gone_ = true;
      learn({FailureKind::kDied, 0, "rank 0 died: its control connection closed"});
    } catch (const std::exception& error) {
      is_hub_gone_ = true;
      learn({FailureKind::kAborted, -1, error.what()});
    }
  }
  try {
    say_goodbye();
  } catch (const std::exception&) {  // the hub is gone: nobody is left to say goodbye to
  }
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

void ControlPlane::Member::step() {
  const int tick_ms = static_cast<int>(tick_of(context_.limits).count());
  pollfd entries[] = {{wake_up_.get(), POLLIN, 0}, {is_hub_gone_ ? -1 : stream_.fd(), stream_.poll_events(), 0}};
  if (::poll(entries, 2, tick_ms) < 0 && errno != EINTR) throw IoError("poll", errno);
  eventfd_t ignored = 0;
  ::eventfd_read(wake_up_.get(), &ignored);
  if (!is_hub_gone_) {
    send_due();
    receive();
  }
  check_hub();
}

void ControlPlane::Member::receive() {
  while (const auto frame = stream_.receive()) {
    last_heard_ = Clock::now();
    handle(decode_control(frame->payload));
    if (is_hub_gone_) return;
  }
}

void ControlPlane::Member::handle(const ControlMessage& message) {
  switch (message.type) {
    case ControlType::kReady: {
      const std::scoped_lock lock(mutex_);
      is_ready_ = true;
      changed_.notify_all();
      break;
    }
    case ControlType::kQuery: {
      const std::scoped_lock lock(mutex_);
      send_control(stream_, context_, {ControlType::kStatus, status_locked(), {}});
      break;
    }
    case ControlType::kFailure:
      learn(message.failure);
      break;
    case ControlType::kGoodbye:
      is_hub_gone_ = true;
      left_behind_ = message.status;
      break;
    default:
      break;
  }
}

// A heartbeat when it is due, and at once a collective that has been running for a tick: slow ones are looked at.
void ControlPlane::Member::send_due() {
  const auto now = Clock::now();
  bool is_due = now - last_sent_ >= heartbeat_of(context_.limits);
  const std::scoped_lock lock(mutex_);
  for (auto& [id, group] : groups_) {
    if (!group.running || group.is_reported || now - group.running_since < tick_of(context_.limits)) continue;
    group.is_reported = is_due = true;
  }
  for (const ControlMessage& message : std::exchange(outbox_, {})) send_control(stream_, context_, message);
  if (is_due) {
    send_control(stream_, context_, {ControlType::kStatus, status_locked(), {}});
    last_sent_ = now;
  }
  stream_.flush();
}

void ControlPlane::Member::check_hub() {
  const auto now = Clock::now();
  // A process that was stopped itself must not blame the others for the silence.
  if (now - std::exchange(last_step_, now) > context_.limits.liveness / 2) last_heard_ = now;
  if (!is_hub_gone_ && now - last_heard_ > context_.limits.liveness) {
    learn({FailureKind::kSilent, 0, concat("rank 0 is silent for ", format_seconds(now - last_heard_))});
  }
  if (left_behind_.empty() && !is_hub_gone_) return;
  std::optional<Fingerprint> waiting;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, group] : groups_) {
      const auto last = left_behind_.find(id);
      const bool has_entered =
          last != left_behind_.end() && group.running && group.running->sequence <= last->second.issued.sequence;
      if (group.running && !has_entered) waiting = group.running;
    }
  }
  if (waiting) learn({FailureKind::kLeft, 0, concat("rank 0 has left without entering ", short_name(*waiting))});
}

// Waits for the hub to close its end, so that nothing of the goodbye is lost in a reset connection.
void ControlPlane::Member::say_goodbye() {
  if (is_hub_gone_) return;
  const auto deadline = Deadline::after(kGoodbyeLimit);
  {
    const std::scoped_lock lock(mutex_);
    for (const ControlMessage& message : std::exchange(outbox_, {})) send_control(stream_, context_, message);
  }
  stream_.flush_until(deadline);
  while (stream_.socket().wait_readable(deadline)) {
    if (const auto frame = stream_.receive()) handle(decode_control(frame->payload));
  }
}

void ControlPlane::Member::leave() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    if (std::uncaught_exceptions() > 0 && !failure_) {
      const std::string message = concat("rank ", context_.rank, " failed: it left while handling an exception");
      outbox_.push_back({ControlType::kAbort, status_locked(), {FailureKind::kAborted, context_.rank, message}});
    }
    outbox_.push_back({ControlType::kGoodbye, status_locked(), {}});
    is_leaving_ = true;
  }
  wake();
  thread_.join();
}

}  // namespace lockstep::comm
