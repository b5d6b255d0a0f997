#include "comm/host/tcp_transport.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/shared_memory/doorbell.hpp"
#include "net/bytes.hpp"
#include "net/silence.hpp"
#include "store/store.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Time to finish a handshake that has begun. It is long because the peer may think it done already, and send.
constexpr auto kHandshakeSlice = 5s;
// How long a rank polls before it sleeps: about the cost of going to sleep and waking up. If ranks share processors, it
// is multiplied by the number of ranks on the host, because they poll in turn.
constexpr auto kSpinLimit = 50us;
// A rank that shares its processor yields it between two polls. If it gets it back later than this, another process was
// computing. Then sleeping is better, because a sleeping rank is woken before the other's turn ends.
constexpr auto kLongTurn = 100us;
// After a long turn, kFewestSleeps waits skip polling; after a series of them, up to kMostSleeps.
constexpr int kFewestSleeps = 16, kMostSleeps = 1024;
// A frame that announces more than this is damaged or forged. Below it, check_header() compares the exact size.
constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{1} << 40;

JobContext without_recorder(JobContext context) {
  context.flight_recorder.reset();
  return context;
}

}  // namespace

TcpTransport::TcpTransport(const JobContext& context, const std::string& group, const std::set<int>& peers,
                           const Deadline& deadline)
    : context_(without_recorder(context)),
      address_prefix_(concat("generation/", context.generation, "/", group, "/address/")),
      identity_{net::Role::kCollective, static_cast<std::uint32_t>(context.generation), context.rank,
                net::checksum(net::as_bytes(group))},
      peers_(static_cast<std::size_t>(context.world_size)),
      unconnected_(peers_.size() - 1),  // all but this rank
      spinning_(context.local_world_size) {
  if (context_.world_size == 1) return;
  listener_ =
      std::make_unique<net::GuardedListener>(net::SocketAddress{context_.bind_address, 0}, context_.token, identity_);
  context_.store->set(concat(address_prefix_, context_.rank), listener_->address().text());
  try {
    for (const int peer : peers) connected(peer, deadline);
  } catch (const TimeoutError& error) {
    tell_job_of(context_, error);
    throw;
  }
}

std::string TcpTransport::name_of(int peer) const { return concat("rank ", context_.global_rank(peer)); }

TcpTransport::Peer& TcpTransport::connected(int peer, const Deadline& deadline) {
  Peer& entry = peers_.at(static_cast<std::size_t>(peer));
  if (entry.socket.is_open()) return entry;
  context_.rank < peer ? connect_to(peer, deadline) : accept_until_connected(peer, deadline);
  return entry;
}

void TcpTransport::throw_if_failed(const std::string& task) const {
  throw_if_job_failed(context_, task);
  if (is_interrupted_) throw IoError(concat(task, ": interrupted"));
}

void TcpTransport::throw_broken(int peer, const std::string& what) const {
  throw LinkError(concat("the connection between ", name_of(context_.rank), " and ", name_of(peer), " broke: ", what));
}

void TcpTransport::connect_to(int peer, const Deadline& deadline) {
  const std::string task = concat("rank ", context_.global_rank(context_.rank), ": connecting to ", name_of(peer));
  const auto published =
      net::SocketAddress::parse(get_or_fail(context_, concat(address_prefix_, peer), task, deadline));
  const net::SocketAddress address = net::as_seen_from(context_.bind_address, published);
  for (;;) {
    throw_if_failed(task);
    const auto slice = Deadline::after(kJobWaitSlice).earliest(deadline);
    try {
      adopt(peer, net::connect_authenticated(address, context_.token, identity_, name_of(peer),
                                             Deadline::after(kHandshakeSlice).earliest(deadline), slice));
      return;
    } catch (const TimeoutError& error) {
      if (!deadline.has_expired()) continue;
      throw TimeoutError(concat(task, ": not within ", format_seconds(deadline.waited()), ": ", error.what()));
    }
  }
}

void TcpTransport::accept_until_connected(int peer, const Deadline& deadline) {
  const std::string task =
      concat("rank ", context_.global_rank(context_.rank), ": waiting for a connection from ", name_of(peer));
  while (!peers_[static_cast<std::size_t>(peer)].socket.is_open()) {
    throw_if_failed(task);
    if (deadline.has_expired()) {
      throw TimeoutError(concat(task, ": not within ", format_seconds(deadline.waited()),
                                listener_->refused_count() == 0 ? "" : "; last refused: ", listener_->last_refusal()));
    }
    std::vector<pollfd> entries;
    listener_->append_poll_entries(entries);
    const auto slice = Deadline::after(kJobWaitSlice).earliest(deadline).earliest(listener_->next_deadline());
    if (::poll(entries.data(), entries.size(), slice.poll_timeout_ms()) < 0 && errno != EINTR) {
      throw IoError("poll", errno);
    }
    accept_waiting();
    send_all_queued();
  }
}

void TcpTransport::accept_waiting() {
  for (net::AcceptedPeer& accepted : listener_->advance()) {
    const int peer = accepted.identity.rank;
    if (accepted.identity.tag != identity_.tag || peer < 0 || peer >= context_.rank) {
      context_.log.warning(concat("refused a connection from rank ", peer, ", which belongs to another group"));
      continue;
    }
    accepted.socket.set_peer(concat(name_of(peer), " (", accepted.socket.peer(), ")"));
    adopt(peer, std::move(accepted.socket));
  }
}

// If a rank gave up and connected again, its new connection replaces the first. Messages that went over that one are
// lost, and those sealed for it cannot be sent over another.
void TcpTransport::adopt(int peer, net::StreamSocket socket) {
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  if (entry.socket.is_open() && !entry.queue.empty()) {
    throw_broken(peer,
                 concat("the answer to ", name_of(peer), "'s handshake was lost, so that it connected again, and ",
                        "messages had gone over the first connection already"));
  }
  if (!entry.socket.is_open()) --unconnected_;
  context_.log.debug(
      concat("connected to ", socket.peer(), "; frames have a ", socket.frame_mac() == nullptr ? "checksum" : "MAC"));
  socket.set_user_timeout(context_.limits.progress);  // a peer may be busy with other work for this long
  const std::scoped_lock lock(sockets_mutex_);
  entry.socket = std::move(socket);
  if (is_interrupted_) entry.socket.shutdown();
}

void TcpTransport::send(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes,
                        const Deadline& deadline) {
  Peer& entry = connected(peer, deadline);
  if (!entry.has_queued()) {
    entry.queue.clear();
    entry.first_unsent = 0;
  }
  ++queued_;
  entry.queue.push_back({sealed(peer, header, bytes), bytes});
  if (fault::take(fault::Kind::kDrop, context_.global_rank(peer))) entry.socket.shutdown();
  payload_bytes_sent_.fetch_add(bytes.size(), std::memory_order_relaxed);
  messages_sent_.fetch_add(1, std::memory_order_relaxed);
  send_queued(peer);
}

net::EncodedHeader TcpTransport::sealed(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes) {
  net::FrameMac* const mac = peers_[static_cast<std::size_t>(peer)].socket.frame_mac();
  if (bytes.empty() || !fault::take(fault::Kind::kCorrupt, context_.global_rank(peer)))
    return net::seal(header, bytes, mac);
  // The caller's elements must not change, so the header is sealed for an altered copy. To the receiver it is the same.
  std::vector<std::byte> others(bytes.begin(), bytes.end());
  others.front() ^= std::byte{1};
  return net::seal(header, others, mac);
}

bool TcpTransport::send_queued(int peer) try {
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  bool has_moved = false;
  while (entry.has_queued()) {
    Outgoing& message = entry.queue[entry.first_unsent];
    const std::size_t of_header = std::min(message.sent, message.header.size());
    const std::size_t moved = entry.socket.send_some(std::span(message.header).subspan(of_header),
                                                     message.payload.subspan(message.sent - of_header));
    if (moved == 0) return has_moved;
    has_moved = true;
    message.sent += moved;
    if (message.sent < message.header.size() + message.payload.size()) continue;
    ++entry.first_unsent;
    --queued_;
  }
  return has_moved;
} catch (const IoError& error) {
  throw_broken(peer, error.what());
}

bool TcpTransport::send_all_queued() {
  bool has_moved = false;
  if (queued_ == 0) return has_moved;
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) has_moved |= send_queued(peer);
  return has_moved;
}

TcpTransport::Spinning::Spinning(int ranks_on_host)
    : shares_processors_(ranks_on_host > processors_of_this_process()),
      limit_(shares_processors_ ? ranks_on_host * kSpinLimit : kSpinLimit) {}

std::chrono::nanoseconds TcpTransport::Spinning::time_to_spin() noexcept {
  if (sleeps_left_ > 0) return --sleeps_left_, 0ns;
  sleeps_ /= 2;
  return limit_;
}

bool TcpTransport::Spinning::offer_processor() noexcept {
  if (!shares_processors_) return true;
  const auto begin = Clock::now();
  ::sched_yield();
  if (Clock::now() - begin <= kLongTurn) return true;
  sleeps_ = std::clamp(4 * sleeps_, kFewestSleeps, kMostSleeps);
  sleeps_left_ = sleeps_;
  return false;
}

// One wait of a rank. It starts a clock when it first finds nothing to do, and sleeps once polling has cost as much as
// sleeping would.
class TcpTransport::Idling {
 public:
  explicit Idling(TcpTransport& transport) : transport_(transport) {}

  // Returns false at the deadline.
  bool pause(int receiving_from, const Deadline& deadline) {
    const auto now = Clock::now();
    if (!std::exchange(is_idle_, true)) {
      idle_since_ = now;
      spin_end_ = now + transport_.spinning_.time_to_spin();
    }
    if (now >= spin_end_) return transport_.sleep_until_ready(receiving_from, deadline);
    if (!transport_.spinning_.offer_processor()) spin_end_ = now;
    return true;
  }
  void has_moved() noexcept { is_idle_ = false; }
  // After pause() has returned false.
  [[nodiscard]] std::string silence(const Deadline& deadline) const {
    return net::format_silence(idle_since_, deadline);
  }

 private:
  TcpTransport& transport_;
  Clock::time_point idle_since_, spin_end_;
  bool is_idle_ = false;
};

// Both sizes are known, so header and payload arrive in one system call if the kernel has both.
void TcpTransport::receive(int peer, const net::FrameHeader& expected, std::span<std::byte> bytes,
                           const Deadline& deadline) {
  net::StreamSocket& socket = connected(peer, deadline).socket;
  net::EncodedHeader encoded;
  const std::size_t total = encoded.size() + bytes.size();
  std::size_t received = 0;
  const auto amounts = [&] { return concat(" (", received, " of ", total, " bytes received)"); };
  const auto receive_some = [&](std::size_t of_header) {
    try {
      return socket.receive_some(std::span(encoded).subspan(of_header), bytes.subspan(received - of_header));
    } catch (const IoError& error) {
      throw_broken(peer, concat(error.what(), amounts()));
    }
  };
  Idling idling(*this);
  while (received < total) {
    const std::size_t of_header = std::min(received, encoded.size());
    const std::size_t moved = receive_some(of_header);
    received += moved;
    if (of_header < encoded.size() && received >= encoded.size()) check_header(peer, encoded, expected, bytes.size());
    if (send_all_queued() || moved > 0) {
      idling.has_moved();
      if (received < total && deadline.has_expired()) {  // a message that arrives in one piece costs no clock
        throw TimeoutError(concat("the data from ", socket.peer(), " did not all arrive within ",
                                  format_seconds(deadline.waited()), amounts()));
      }
    } else if (!idling.pause(peer, deadline)) {
      throw TimeoutError(concat("no data from ", socket.peer(), " for ", idling.silence(deadline), amounts()));
    }
  }
  net::check_payload(encoded, bytes, socket.peer(), socket.frame_mac());
}

void TcpTransport::check_header(int peer, const net::EncodedHeader& encoded, const net::FrameHeader& expected,
                                std::size_t payload_bytes) const {
  const net::StreamSocket& socket = peers_[static_cast<std::size_t>(peer)].socket;
  const std::string& sender = socket.peer();
  const net::FrameHeader header =
      net::open_header(encoded, {kMaxPayloadBytes, identity_.generation}, sender, socket.frame_mac());
  check_same_collective(expected, name_of(context_.rank), header, name_of(peer));
  if (header.payload_bytes == payload_bytes) return;
  throw FormatError(concat(sender, " sent ", header.payload_bytes, " bytes, but ", payload_bytes, " were expected"));
}

void TcpTransport::flush(const Deadline& deadline, std::size_t most_queued) {
  constexpr int kNobody = -1;
  Idling idling(*this);
  while (queued_ > most_queued) {
    bool is_in_time = true;
    if (!send_all_queued()) {
      is_in_time = idling.pause(kNobody, deadline);
    } else {
      idling.has_moved();
      if (queued_ > most_queued) is_in_time = !deadline.has_expired();
    }
    if (is_in_time) continue;
    throw TimeoutError(
        concat(queued_, " messages were not accepted by their receivers for ", format_seconds(deadline.waited())));
  }
}

bool TcpTransport::sleep_until_ready(int receiving_from, const Deadline& deadline) {
  poll_entries_.clear();
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    const Peer& entry = peers_[static_cast<std::size_t>(peer)];
    const int events = (entry.has_queued() ? POLLOUT : 0) | (peer == receiving_from ? POLLIN : 0);
    if (events != 0) poll_entries_.push_back({entry.socket.fd(), static_cast<short>(events), 0});
  }
  Deadline wake_up = deadline;
  const std::size_t of_peers = poll_entries_.size();
  if (unconnected_ > 0) {
    listener_->append_poll_entries(poll_entries_);
    wake_up = wake_up.earliest(listener_->next_deadline());
  }
  const int ready = ::poll(poll_entries_.data(), poll_entries_.size(), wake_up.poll_timeout_ms());
  if (ready < 0 && errno != EINTR) throw IoError("poll", errno);
  const auto of_listener = std::span(poll_entries_).subspan(of_peers);
  const bool has_news = std::ranges::any_of(of_listener, [](const pollfd& entry) { return entry.revents != 0; });
  if (unconnected_ > 0 && (has_news || listener_->next_deadline().has_expired())) accept_waiting();
  return ready > 0 || !deadline.has_expired();
}

void TcpTransport::interrupt() noexcept {
  const std::scoped_lock lock(sockets_mutex_);
  is_interrupted_ = true;
  for (Peer& peer : peers_) peer.socket.shutdown();
}

Traffic TcpTransport::sent() const noexcept {
  const std::uint64_t messages = messages_sent_;
  return {payload_bytes_sent_, messages * net::kFrameHeaderBytes, messages};
}

}  // namespace lockstep::comm
