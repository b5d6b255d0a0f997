#include "comm/control/hub.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

// Checks that ranks are ranks of this job: the decoder cannot, and all later code relies on it.
void check_sent_by_rank(const ControlMessage& message, int world_size) {
  constexpr std::array kOfTheHub = {ControlType::kReady, ControlType::kHeartbeat, ControlType::kQuery,
                                    ControlType::kFailure};
  if (std::ranges::find(kOfTheHub, message.type) != kOfTheHub.end()) {
    throw FormatError(concat("control message ", static_cast<int>(message.type), " is the hub's"));
  }
  if (message.failure.culprit < -1 || message.failure.culprit >= world_size) {
    throw FormatError(concat("a failure of rank ", message.failure.culprit, ", of ", world_size));
  }
  std::vector<bool> is_member(message.members.empty() ? 0 : static_cast<std::size_t>(world_size));
  for (const int member : message.members) {
    const bool is_rank = member >= 0 && member < world_size;
    if (!is_rank || is_member[static_cast<std::size_t>(member)]) {
      throw FormatError(
          concat("a group with member ", member, is_rank ? " twice" : concat(", of ", world_size, " ranks")));
    }
    is_member[static_cast<std::size_t>(member)] = true;
  }
}

}  // namespace

ControlPlane::Hub::Hub(const JobContext& context, const Deadline& deadline)
    : context_(context.without_shared_parts()),
      listener_({context.bind_address, 0}, context.token,
                {net::Role::kControl, static_cast<std::uint32_t>(context.generation), -1, 0}),
      wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      connections_(context_),
      roster_(context.world_size, context.limits.liveness, Clock::now()),
      groups_(context.world_size),
      judge_(context.limits, deadline, roster_, groups_),
      last_look_(Clock::now()),
      last_heartbeat_(last_look_) {
  if (!wake_up_.is_open()) throw IoError("eventfd", errno);
}

void ControlPlane::Hub::start() {
  thread_ = std::thread([this] { run(); });
}

ControlPlane::Hub::~Hub() { leave(Deadline::after(0s)); }

void ControlPlane::Hub::leave(const Deadline& deadline) noexcept {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline.when(), [this] { return are_all_gone_; });
    is_stopping_ = true;
  }
  ::eventfd_write(wake_up_.get(), 1);
  thread_.join();
}

void ControlPlane::Hub::run() noexcept {
  for (;;) {
    try {
      {
        const std::scoped_lock lock(mutex_);
        if (is_stopping_) break;
      }
      step();
    } catch (const std::exception& error) {
      context_.log.error(concat("control plane: ", error.what()));
      std::this_thread::sleep_for(50ms);  // it may recur at once
    }
  }
  // Tells the ranks that rank 0 is done, not dead.
  if (judge_.failure()) return;
  connections_.broadcast({.type = ControlType::kGoodbye, .status = groups_.status_with_destroyed(0), .failure = {}});
}

void ControlPlane::Hub::step() {
  std::vector<pollfd> entries{{wake_up_.get(), POLLIN, 0}, {connections_.ready_fd(), POLLIN, 0}};
  listener_.append_poll_entries(entries);
  const Deadline next = Deadline::after(tick_of(context_.limits)).earliest(listener_.next_deadline());
  if (::poll(entries.data(), entries.size(), next.poll_timeout_ms()) < 0 && errno != EINTR)
    throw IoError("poll", errno);
  serve_members();
  for (net::AcceptedPeer& peer : listener_.advance()) admit(std::move(peer));
  const std::scoped_lock lock(mutex_);
  are_all_gone_ = roster_.are_all_gone();
  if (are_all_gone_) changed_.notify_all();
}

// Runs before new connections are handled, so that ranks get their heartbeats even if strangers flood the listener.
void ControlPlane::Hub::serve_members() {
  for (const std::uint64_t rank : connections_.take_ready()) serve(static_cast<int>(rank));
  const auto now = Clock::now();
  if (now - last_heartbeat_ >= heartbeat_of(context_.limits)) {
    last_heartbeat_ = now;
    connections_.broadcast({.type = ControlType::kHeartbeat, .status = {}, .failure = {}});
  }
  roster_.note_step(now);
  carry_out(judge_.check_deadlines(now));
  if (now - last_look_ < tick_of(context_.limits)) return;  // thousands of messages may arrive in between
  last_look_ = now;
  carry_out(judge_.look(now));
}

void ControlPlane::Hub::admit(net::AcceptedPeer peer) {
  const int rank = peer.identity.rank;
  if (!roster_.expects(rank)) {
    context_.log.warning(
        concat("control plane: refused a second or unknown rank ", rank, " from ", peer.socket.peer()));
    return;
  }
  peer.socket.set_peer(concat("rank ", rank, " (", peer.socket.peer(), ")"));
  connections_.open(rank, std::move(peer.socket));
  roster_.join(rank, Clock::now());
  if (const auto& failure = judge_.failure())
    connections_.send(rank, {.type = ControlType::kFailure, .status = {}, .failure = *failure});
  else if (roster_.is_complete())
    connections_.broadcast({.type = ControlType::kReady, .status = {}, .failure = {}});
}

void ControlPlane::Hub::serve(int rank) {
  if (!connections_.is_open(rank)) return;
  try {
    connections_.flush(rank);
    for (int count = 0; count < net::FrameStream::kMostPerTurn && connections_.is_open(rank); ++count) {
      const auto message = connections_.receive(rank);
      if (!message) return;
      roster_.hear(rank, Clock::now());
      check_sent_by_rank(*message, context_.world_size);
      handle(rank, *message);
    }
  } catch (const IoError&) {
    disconnect(rank);
    carry_out(judge_.fail({FailureKind::kDied, rank, concat("rank ", rank, " died: its control connection closed")}));
  } catch (const FormatError& error) {
    disconnect(rank);
    carry_out(judge_.fail({FailureKind::kAborted, rank,
                           concat("rank ", rank, " sent nonsense on its control connection: ", error.what())}));
  }
}

void ControlPlane::Hub::disconnect(int rank) noexcept {
  connections_.close(rank);
  roster_.disconnect(rank);
  judge_.note_answer(rank);
}

void ControlPlane::Hub::handle(int rank, const ControlMessage& message) {
  switch (message.type) {
    case ControlType::kStatus:
      groups_.report(rank, message.status);
      judge_.note_answer(rank);
      break;
    case ControlType::kGoodbye:
      groups_.leave(rank, message.status);
      disconnect(rank);
      if (!roster_.is_complete()) {
        carry_out(judge_.fail({FailureKind::kLeft, rank, concat("rank ", rank, " left before all ranks had joined")}));
      }
      break;
    case ControlType::kAbort:
      groups_.report(rank, message.status);
      carry_out(judge_.on_abort(rank, message.failure, Clock::now()));
      break;
    case ControlType::kGroup:
      groups_.register_group(rank, message.group, message.members);
      break;
    case ControlType::kForget:
      if (const Members members = groups_.forget_group(rank, message.group, message.status))
        calls_.forget(message.group, members);
      break;
    case ControlType::kPosted:
      compare_posted(rank, message);
      break;
    default:
      break;
  }
}

// Tells each rank the last call on which all agree, in one message for any number of calls.
void ControlPlane::Hub::compare_posted(int rank, const ControlMessage& message) {
  std::map<int, ControlMessage> replies;
  const Members members = groups_.group_of(rank, message.group).members;
  for (const Fingerprint& call : message.calls) {
    const auto verdict = calls_.add(rank, message.group, members, call);
    for (const CallLedger::Agreement& agreement : verdict.agreements) {
      ControlMessage& reply = replies[agreement.rank];
      reply.type = ControlType::kPosted;
      reply.group = message.group;
      reply.calls.push_back(agreement.call);
    }
    if (verdict.disagreement) {
      return carry_out(judge_.inquire({FailureKind::kMismatch, -1, *verdict.disagreement}, rank, Clock::now()));
    }
  }
  for (const auto& [receiver, reply] : replies) connections_.send(receiver, reply);
}

void ControlPlane::Hub::carry_out(const Decision& decision) {
  for (const std::string& warning : decision.warnings) context_.log.warning(warning);
  for (const ControlMessage& message : decision.messages) connections_.broadcast(message);
}

}  // namespace lockstep::comm
