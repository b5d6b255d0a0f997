#include "emulated_nccl/meeting.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>

#include "base/error.hpp"
#include "emulated_nccl/failure.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/guarded_listener.hpp"
#include "net/interfaces.hpp"
#include "net/token.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::emulated_nccl {
namespace {

using namespace std::chrono_literals;

// Waits are cut into slices, between which `should_stop` is called.
constexpr auto kSlice = 100ms;
// A handshake that has begun gets more time: the peer might consider it done.
constexpr auto kHandshakeSlice = 5s;

// Calls `attempt` until it does not end in a TimeoutError.
template <typename Attempt>
auto retry_until(const ShouldStop& should_stop, const Attempt& attempt) {
  for (;;) {
    nccl_require(!should_stop(), ncclSystemError, "given up: the communicator was aborted");
    try {
      return attempt();
    } catch (const TimeoutError&) {
    }
  }
}

// One rank's values by key, in the store of the meeting.
class StoreExchange {
 public:
  StoreExchange(const Membership& own, const ShouldStop& should_stop) : own_(own), should_stop_(should_stop) {
    store_ = retry_until(should_stop, [&] {
      return std::make_unique<store::TcpStore>(own.point.store, own.point.token, 0, own.rank, Deadline::after(1s));
    });
  }

  // Publishes `value` under `topic` and returns those of all ranks, by rank.
  std::vector<std::string> gather(const std::string& topic, const std::string& value) {
    const auto key = [&](int rank) { return concat(own_.point.prefix, "/", topic, "/", rank); };
    store_->set(key(own_.rank), value);
    std::vector<std::string> values;
    for (int rank = 0; rank < own_.size; ++rank) {
      values.push_back(retry_until(should_stop_, [&] { return store_->get(key(rank), Deadline::after(kSlice)); }));
    }
    return values;
  }

 private:
  const Membership& own_;
  const ShouldStop& should_stop_;
  std::unique_ptr<store::TcpStore> store_;
};

// A rank's announcement: its process, which is unique, its device, and its listening address.
struct Place {
  std::string process;
  int device = 0;
  std::string address;
};

std::string text_of(const Place& place) { return concat(place.process, " ", place.device, " ", place.address); }

Place place_from(const std::string& text) {
  Place place;
  std::istringstream(text) >> place.process >> place.device >> place.address;
  return place;
}

const std::string& this_process() {
  static const std::string name = net::make_token();
  return name;
}

void require_different_devices(const std::vector<Place>& places) {
  std::map<std::tuple<std::string, int>, std::size_t> first_ranks;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto [first, is_new] = first_ranks.try_emplace({places[rank].process, places[rank].device}, rank);
    nccl_require(is_new, ncclInvalidUsage, "Duplicate GPU: ranks ", first->second, " and ", rank, " both use device ",
                 places[rank].device, " of one process; give each rank a device of its own");
  }
}

// In a pair, the lower rank connects. Each connects to the highest first and then accepts others: so the highest rank
// answers at once, then the next, and ranks never wait for each other in a cycle.
class Connecting {
 public:
  Connecting(const Membership& own, const ShouldStop& should_stop)
      : own_(own),
        should_stop_(should_stop),
        identity_{net::Role::kCollective, 0, own.rank, net::checksum(net::as_bytes(own.point.prefix))},
        listener_({net::given_bind_address().value_or("127.0.0.1"), 0}, own.point.token, identity_),
        sockets_(static_cast<std::size_t>(own.size)) {}

  [[nodiscard]] std::string address() const { return listener_.address().text(); }

  std::vector<net::StreamSocket> run(const std::vector<Place>& places) {
    for (int peer = own_.size - 1; peer > own_.rank; --peer) connect_to(peer, places[static_cast<std::size_t>(peer)]);
    while (std::count_if(sockets_.begin(), sockets_.end(), [](const auto& socket) { return socket.is_open(); }) <
           own_.size - 1) {
      accept_one();
    }
    return std::move(sockets_);
  }

 private:
  void connect_to(int peer, const Place& place) {
    sockets_[static_cast<std::size_t>(peer)] = retry_until(should_stop_, [&] {
      return net::connect_authenticated(net::SocketAddress::parse(place.address), own_.point.token, identity_,
                                        concat("rank ", peer), Deadline::after(kHandshakeSlice),
                                        Deadline::after(kSlice));
    });
  }

  void accept_one() {
    net::AcceptedPeer accepted = retry_until(should_stop_, [&] { return listener_.accept(Deadline::after(kSlice)); });
    const int peer = accepted.identity.rank;
    if (accepted.identity.tag != identity_.tag || peer < 0 || peer >= own_.rank) return;
    accepted.socket.set_peer(concat("rank ", peer, " (", accepted.socket.peer(), ")"));
    sockets_[static_cast<std::size_t>(peer)] = std::move(accepted.socket);
  }

  const Membership& own_;
  const ShouldStop& should_stop_;
  net::Identity identity_;
  net::GuardedListener listener_;
  std::vector<net::StreamSocket> sockets_;
};

}  // namespace

std::unique_ptr<Mesh> meet(const Membership& own, const ShouldStop& should_stop) {
  Connecting connecting(own, should_stop);
  std::vector<Place> places;
  for (const std::string& text :
       StoreExchange(own, should_stop).gather("place", text_of({this_process(), own.device, connecting.address()}))) {
    places.push_back(place_from(text));
  }
  require_different_devices(places);
  return std::make_unique<Mesh>(own.rank, connecting.run(places));
}

Membership choose_part(const Membership& own, int number, const Choice& choice, const ShouldStop& should_stop) {
  const std::string topic = concat("split/", number);
  const auto texts = StoreExchange(own, should_stop).gather(topic, concat(choice.color, " ", choice.key));
  std::vector<std::tuple<int, int>> members;  // key, old rank
  for (int rank = 0; rank < own.size; ++rank) {
    Choice other;
    std::istringstream(texts[static_cast<std::size_t>(rank)]) >> other.color >> other.key;
    if (other.color == choice.color) members.emplace_back(other.key, rank);
  }
  std::sort(members.begin(), members.end());
  const auto place = std::find(members.begin(), members.end(), std::tuple(choice.key, own.rank));
  Membership part = own;
  part.point.prefix = concat(own.point.prefix, "/", topic, "/color/", choice.color);
  part.rank = static_cast<int>(place - members.begin());
  part.size = static_cast<int>(members.size());
  return part;
}

}  // namespace lockstep::emulated_nccl
