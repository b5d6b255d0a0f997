#include "comm/peer_connections.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "comm/control_plane.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/guarded_listener.hpp"
#include "store/store.hpp"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

// A wait for a peer is cut into slices, so that the death of a rank is noticed meanwhile. The handshake gets longer:
// giving it up half-way costs a connection.
constexpr auto kWaitSlice = 200ms;
constexpr auto kConnectSlice = 2000ms;

// Calls `attempt` with short deadlines until it succeeds, the control plane knows a failure or `deadline` passes.
template <typename Attempt>
auto in_slices(const JobContext& context, const std::string& task, std::chrono::milliseconds slice,
               const Deadline& deadline, Attempt attempt) {
  for (;;) {
    try {
      return attempt(Deadline::after(slice).earliest(deadline));
    } catch (const TimeoutError& error) {
      const auto failure = context.control ? context.control->failure() : nullptr;
      const std::string prefix = concat("rank ", context.rank, ": ", task);
      if (failure) std::rethrow_exception(to_exception(*failure, prefix));
      if (deadline.has_expired()) {
        throw TimeoutError(concat(prefix, ": not within ", format_seconds(deadline.waited()), ": ", error.what()));
      }
    }
  }
}

std::string names_of(const std::set<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += concat(text.empty() ? "rank " : ", ", rank);
  return text;
}

// Accepts the awaited ranks, in whatever order they come.
std::map<int, net::TcpSocket> accept_peers(const JobContext& context, net::GuardedListener& listener, std::uint64_t tag,
                                           std::set<int> awaited, const std::atomic<bool>& is_stopped,
                                           const Deadline& deadline) {
  std::map<int, net::TcpSocket> accepted;
  while (!awaited.empty() && !is_stopped) {
    const std::string task = concat("waiting for connections from ", names_of(awaited));
    net::AcceptedPeer peer = in_slices(context, task, kWaitSlice, deadline, [&](const Deadline& slice) {
      if (is_stopped) throw Error("connecting to the other peers failed");
      return listener.accept(slice);
    });
    const int rank = peer.identity.rank;
    if (peer.identity.tag != tag || (!awaited.contains(rank) && !accepted.contains(rank))) {
      context.log.warning(concat("refused a connection of rank ", rank, ", which belongs to another group"));
      continue;
    }
    peer.socket.set_peer(concat("rank ", rank, " (", peer.socket.peer(), ")"));
    accepted.insert_or_assign(rank, std::move(peer.socket));  // a rank that gave up and came again replaces itself
    awaited.erase(rank);
  }
  return accepted;
}

}  // namespace

PeerConnections connect_peers(const JobContext& context, std::string_view group, std::span<const int> connect_to,
                              std::span<const int> accept_from, const Deadline& deadline) {
  const auto generation = static_cast<std::uint32_t>(context.generation);
  const std::uint64_t tag = net::checksum(net::as_bytes(group));
  const std::string prefix = concat("generation/", generation, "/", group, "/address/");
  const net::Identity identity{net::Role::kCollective, generation, context.rank, tag};

  // All ranks connect and accept at the same time: in a ring, connecting first would leave nobody to answer.
  std::atomic<bool> is_stopped = false;
  std::optional<net::GuardedListener> listener;
  std::future<std::map<int, net::TcpSocket>> accepting;
  if (!accept_from.empty()) {
    listener.emplace(net::SocketAddress{context.bind_address, 0}, context.token, identity);
    context.store->set(concat(prefix, context.rank), listener->address().text());
    accepting = std::async(std::launch::async, [&] {
      return accept_peers(context, *listener, tag, {accept_from.begin(), accept_from.end()}, is_stopped, deadline);
    });
  }

  PeerConnections connections;
  try {
    for (const int peer : connect_to) {
      const std::string name = concat("rank ", peer);
      const auto address =
          in_slices(context, concat("looking up ", name), kWaitSlice, deadline, [&](const Deadline& slice) {
            return net::SocketAddress::parse(context.store->get(concat(prefix, peer), slice));
          });
      connections.outgoing[peer] =
          in_slices(context, concat("connecting to ", name), kConnectSlice, deadline, [&](const Deadline& slice) {
            return net::connect_authenticated(address, context.token, identity, name, slice);
          });
    }
  } catch (...) {
    is_stopped = true;  // the future's destructor waits for the accepting thread
    throw;
  }
  if (accepting.valid()) connections.incoming = accepting.get();
  return connections;
}

}  // namespace lockstep::comm
