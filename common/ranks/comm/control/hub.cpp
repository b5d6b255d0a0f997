#include "comm/control/hub.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

// How long ranks have to say where they are before a mismatch or timeout is told to all.
constexpr auto kInquiryLimit = 300ms;

// What the decoder cannot know, and everything after it takes for granted: ranks are ranks of this job.
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

Members all_ranks(int world_size) {
  std::vector<int> all(static_cast<std::size_t>(world_size));
  std::iota(all.begin(), all.end(), 0);
  return std::make_shared<const std::vector<int>>(std::move(all));
}

}  // namespace

ControlPlane::Hub::Hub(const JobContext& context, const Deadline& deadline)
    : context_(context.without_shared_parts()),
      listener_({context.bind_address, 0}, context.token,
                {net::Role::kControl, static_cast<std::uint32_t>(context.generation), -1, 0}),
      address_(listener_.address()),
      wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      everybody_(all_ranks(context.world_size)),
      ranks_(static_cast<std::size_t>(context.world_size)),
      join_deadline_(deadline),
      last_step_(Clock::now()),
      last_look_(last_step_),
      last_heartbeat_(last_step_) {
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
      std::this_thread::sleep_for(50ms);  // it may come again at once
    }
  }
  // A rank that reads this knows that rank 0 is done, not dead.
  if (failure_) return;
  RankStatus left_behind = ranks_[0].status;
  left_behind.insert(ranks_[0].destroyed.begin(), ranks_[0].destroyed.end());
  broadcast({.type = ControlType::kGoodbye, .status = std::move(left_behind), .failure = {}});
}

void ControlPlane::Hub::step() {
  std::vector<pollfd> entries{{wake_up_.get(), POLLIN, 0}, {ready_.fd(), POLLIN, 0}};
  listener_.append_poll_entries(entries);
  const Deadline next = Deadline::after(tick_of(context_.limits)).earliest(listener_.next_deadline());
  if (::poll(entries.data(), entries.size(), next.poll_timeout_ms()) < 0 && errno != EINTR)
    throw IoError("poll", errno);
  serve_members();
  for (net::AcceptedPeer& peer : listener_.advance()) admit(std::move(peer));
  const bool are_all_gone =
      std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.has_joined && !rank.stream; });
  const std::scoped_lock lock(mutex_);
  are_all_gone_ = are_all_gone;
  if (are_all_gone) changed_.notify_all();
}

// Before anybody who connects is looked at: whatever strangers do to the listener, ranks get their heartbeats.
void ControlPlane::Hub::serve_members() {
  for (const std::uint64_t rank : ready_.take()) serve(static_cast<int>(rank));
  send_heartbeats();
  judge();
}

void ControlPlane::Hub::admit(net::AcceptedPeer peer) {
  const int number = peer.identity.rank;
  if (number < 0 || number >= context_.world_size || ranks_[number].has_joined) {
    context_.log.warning(
        concat("control plane: refused a second or unknown rank ", number, " from ", peer.socket.peer()));
    return;
  }
  Rank& rank = ranks_[number];
  peer.socket.set_peer(concat("rank ", number, " (", peer.socket.peer(), ")"));
  ready_.add(peer.socket.fd(), static_cast<std::uint64_t>(number));
  rank.stream = std::make_unique<net::FrameStream>(
      std::move(peer.socket), net::FrameLimits{kMaxControlBytes, static_cast<std::uint32_t>(context_.generation)});
  rank.has_joined = true;
  ++joined_count_;
  rank.last_heard = Clock::now();
  if (failure_) return send(number, {.type = ControlType::kFailure, .status = {}, .failure = *failure_});
  is_ready_ = joined_count_ == context_.world_size;
  if (is_ready_) broadcast({.type = ControlType::kReady, .status = {}, .failure = {}});
}

void ControlPlane::Hub::serve(int number) {
  Rank& rank = ranks_[number];
  if (!rank.stream) return;
  try {
    rank.stream->flush();
    while (const auto frame = rank.stream->receive()) {
      rank.last_heard = Clock::now();
      const ControlMessage message = decode_control(frame->payload);
      check_sent_by_rank(message, context_.world_size);
      handle(number, message);
      if (!rank.stream) return;
    }
    watch_for_room(number);
  } catch (const IoError&) {
    disconnect(rank);
    tell({FailureKind::kDied, number, concat("rank ", number, " died: its control connection closed")});
  } catch (const FormatError& error) {
    disconnect(rank);
    tell({FailureKind::kAborted, number,
          concat("rank ", number, " sent nonsense on its control connection: ", error.what())});
  }
}

void ControlPlane::Hub::disconnect(Rank& rank) noexcept {
  ready_.remove(rank.stream->fd());
  rank.stream.reset();
}

void ControlPlane::Hub::watch_for_room(int number) {
  Rank& rank = ranks_[number];
  const bool has_queued = rank.stream->queued_bytes() > 0;
  if (std::exchange(rank.is_watched_for_room, has_queued) == has_queued) return;
  using Interest = net::ReadySet::Interest;
  ready_.change(rank.stream->fd(), static_cast<std::uint64_t>(number),
                has_queued ? Interest::kReadAndWrite : Interest::kRead);
}

void ControlPlane::Hub::handle(int number, const ControlMessage& message) {
  Rank& rank = ranks_[number];
  switch (message.type) {
    case ControlType::kStatus:
      rank.status = message.status;
      rank.has_answered = true;
      break;
    case ControlType::kGoodbye:
      rank.status = message.status;
      rank.has_left = true;
      disconnect(rank);
      if (!is_ready_) tell({FailureKind::kLeft, number, concat("rank ", number, " left before all ranks had joined")});
      break;
    case ControlType::kAbort:
      rank.status = message.status;
      if (inquiry_ && inquiry_->reporter == number) break;  // it leaves, and has said why
      if (message.failure.kind == FailureKind::kAborted)
        tell(message.failure);
      else
        open_inquiry(message.failure, number);
      break;
    case ControlType::kGroup:
      register_group(number, message.group, message.members);
      break;
    case ControlType::kForget:
      forget_group(number, message.group, message.status);
      break;
    case ControlType::kPosted:
      compare_posted(number, message);
      break;
    default:
      break;
  }
}

void ControlPlane::Hub::send(int number, const ControlMessage& message) {
  Rank& rank = ranks_[number];
  if (!rank.stream) return;
  try {
    send_control(*rank.stream, context_, message);
    watch_for_room(number);
  } catch (const IoError&) {
    rank.stream->socket().shutdown();  // serve() finds it closed and judges
  }
}

void ControlPlane::Hub::broadcast(const ControlMessage& message) {
  for (int rank = 0; rank < context_.world_size; ++rank) send(rank, message);
}

void ControlPlane::Hub::send_heartbeats() {
  const auto now = Clock::now();
  if (now - last_heartbeat_ < heartbeat_of(context_.limits)) return;
  last_heartbeat_ = now;
  broadcast({.type = ControlType::kHeartbeat, .status = {}, .failure = {}});
}

void ControlPlane::Hub::open_inquiry(const Failure& failure, int reporter) {
  if (failure_ || inquiry_) return;
  for (Rank& rank : ranks_) rank.has_answered = !rank.stream;
  inquiry_ = Inquiry{failure, reporter, Deadline::after(kInquiryLimit)};
  broadcast({.type = ControlType::kQuery, .status = {}, .failure = {}});
}

void ControlPlane::Hub::tell(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  inquiry_.reset();
  broadcast({.type = ControlType::kFailure, .status = {}, .failure = failure});
}

}  // namespace lockstep::comm
