#include "comm/control/member.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/flight_recorder/report_signal.hpp"
#include "net/handshake.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto kGoodbyeLimit = 1s;
constexpr auto kVerdictLimit = 1s;                // for rank 0's report of missing ranks
constexpr std::size_t kReportedCollectives = 10;  // on SIGUSR1

net::StreamSocket connect_to_hub(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline) {
  const net::Identity identity{net::Role::kControl, static_cast<std::uint32_t>(context.generation), context.rank, 0};
  return net::connect_authenticated(hub, context.token, identity, "rank 0's control plane", deadline);
}

}  // namespace

ControlPlane::Member::Member(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline,
                             Shared& shared)
    : context_(context.without_shared_parts()),
      flight_recorder_(context.flight_recorder),
      stream_(connect_to_hub(context, hub, deadline),
              {kMaxControlBytes, static_cast<std::uint32_t>(context.generation)}),
      last_heard_(Clock::now()),
      last_sent_(last_heard_),
      last_step_(last_heard_),
      reports_given_(reports_asked()),
      wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      shared_(shared) {
  if (!wake_up_.is_open()) throw IoError("eventfd", errno);
  watch_report_signal();
  thread_ = std::thread([this] { run(); });
}

ControlPlane::Member::~Member() { leave(); }

void ControlPlane::Member::wake() noexcept { ::eventfd_write(wake_up_.get(), 1); }

void ControlPlane::Member::wait_until_ready(const Deadline& deadline) {
  std::unique_lock lock(shared_.mutex);
  const auto is_decided = [this] { return shared_.is_ready || shared_.failure != nullptr; };
  // At the deadline rank 0 reports the missing ranks; its wait may have begun a little later.
  if (!shared_.changed.wait_until(lock, deadline.when(), is_decided) &&
      !shared_.changed.wait_for(lock, kVerdictLimit, is_decided)) {
    throw TimeoutError(concat("rank ", context_.rank, ": not all ranks connected to the control plane within ",
                              format_seconds(deadline.waited())));
  }
  if (!shared_.is_ready)
    std::rethrow_exception(to_exception(*shared_.failure, concat("rank ", context_.rank, ": joining")));
}

void ControlPlane::Member::learn(const Failure& failure) {
  const std::scoped_lock callback_lock(shared_.callback_mutex);
  {
    const std::scoped_lock lock(shared_.mutex);
    if (shared_.failure) return;
    shared_.failure = std::make_shared<const Failure>(failure);
  }
  if (flight_recorder_) flight_recorder_->note_failure(failure.culprit, failure.message);
  shared_.changed.notify_all();
  for (const auto& [subscription, on_failure] : shared_.callbacks) on_failure(failure);
  shared_.callbacks.clear();
}

void ControlPlane::Member::run() noexcept {
  for (;;) {
    try {
      {
        const std::scoped_lock lock(shared_.mutex);
        if (shared_.is_leaving) break;
      }
      step();
    } catch (const IoError&) {
      if (has_heard_goodbye()) continue;
      is_hub_gone_ = true;  // its end closed without a goodbye: rank 0's process is gone
      learn({FailureKind::kDied, 0, "rank 0 died: its control connection closed"});
    } catch (const std::exception& error) {
      is_hub_gone_ = true;
      learn({FailureKind::kAborted, 0, concat("rank 0 sent nonsense on the control connection: ", error.what())});
    }
  }
  try {
    say_goodbye();
  } catch (const std::exception&) {  // the hub is gone: no goodbye is needed
  }
  const std::scoped_lock lock(shared_.mutex);
  shared_.has_ended = true;
  shared_.changed.notify_all();
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
  if (is_hub_gone_) drop_outbox();
  check_hub();
  report_if_asked();
}

// Sending to a hub that has left fails, perhaps before its last words have been read.
bool ControlPlane::Member::has_heard_goodbye() noexcept {
  try {
    receive();
  } catch (const std::exception&) {  // after the goodbye, or instead of it: the end of the connection
  }
  return is_hub_gone_;
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
      const std::scoped_lock lock(shared_.mutex);
      shared_.is_ready = true;
      shared_.changed.notify_all();
      break;
    }
    case ControlType::kQuery: {
      const std::scoped_lock lock(shared_.mutex);
      send_outbox_locked();  // messages about groups must precede those about their collectives
      send_control(stream_, context_,
                   {.type = ControlType::kStatus, .status = shared_.activity.status(), .failure = {}});
      break;
    }
    case ControlType::kFailure:
      learn(message.failure);
      break;
    case ControlType::kGoodbye:
      is_hub_gone_ = true;
      left_behind_ = message.status;
      {
        const std::scoped_lock lock(shared_.mutex);
        shared_.has_hub_left = true;
        shared_.changed.notify_all();
      }
      break;
    case ControlType::kPosted: {
      const std::scoped_lock lock(shared_.mutex);
      for (const Fingerprint& call : message.calls) shared_.activity.on_agreed(message.group, call);
      shared_.changed.notify_all();
      break;
    }
    default:
      break;
  }
}

void ControlPlane::Member::send_outbox_locked() {
  for (const ControlMessage& message : std::exchange(shared_.outbox, {})) send_control(stream_, context_, message);
}

// Callers go on posting calls after rank 0 has left.
void ControlPlane::Member::drop_outbox() {
  const std::scoped_lock lock(shared_.mutex);
  shared_.outbox.clear();
}

// A heartbeat when it is due, and at once if a running call must be reported.
void ControlPlane::Member::send_due() {
  const auto now = Clock::now();
  const std::scoped_lock lock(shared_.mutex);
  const bool is_due =
      shared_.activity.take_due_report(context_.limits) || now - last_sent_ >= heartbeat_of(context_.limits);
  send_outbox_locked();
  if (is_due) {
    send_control(stream_, context_, {.type = ControlType::kStatus, .status = shared_.activity.status(), .failure = {}});
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
  std::string waiting;
  {
    const std::scoped_lock lock(shared_.mutex);
    waiting = shared_.activity.missing_from_rank_0(left_behind_, context_.rank);
  }
  if (!waiting.empty()) learn({FailureKind::kLeft, 0, waiting});
}

void ControlPlane::Member::report_if_asked() {
  const unsigned count = reports_asked();
  if (std::exchange(reports_given_, count) != count) context_.log.info(describe_self());
}

// For SIGUSR1: the running calls, and the last collectives if they are recorded.
std::string ControlPlane::Member::describe_self() const {
  std::string text = "SIGUSR1: ";
  {
    const std::scoped_lock lock(shared_.mutex);
    text += shared_.activity.to_text();
  }
  if (!flight_recorder_) return text;
  return concat(text, "; last collectives:\n", format_flight_record(flight_recorder_->record(), kReportedCollectives));
}

// Waits for the hub to close its end, so that a connection reset cannot lose the goodbye.
void ControlPlane::Member::say_goodbye() {
  if (is_hub_gone_) return;
  const auto deadline = Deadline::after(kGoodbyeLimit);
  {
    const std::scoped_lock lock(shared_.mutex);
    send_outbox_locked();
  }
  stream_.flush_until(deadline);
  while (stream_.socket().wait_readable(deadline)) {
    if (const auto frame = stream_.receive()) handle(decode_control(frame->payload));
  }
}

void ControlPlane::Member::leave() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(shared_.mutex);
    if (std::uncaught_exceptions() > 0 && !shared_.failure) {
      const Failure left{FailureKind::kAborted, context_.rank,
                         concat("rank ", context_.rank, " failed: it left while handling an exception")};
      shared_.outbox.push_back({.type = ControlType::kAbort,
                                .status = shared_.activity.status(),
                                .failure = shared_.last_words.value_or(left)});
    }
    shared_.outbox.push_back({.type = ControlType::kGoodbye, .status = shared_.activity.status(), .failure = {}});
    shared_.is_leaving = true;
  }
  wake();
  thread_.join();
}

}  // namespace lockstep::comm
