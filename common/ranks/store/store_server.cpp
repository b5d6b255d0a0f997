#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/frame_stream.hpp"
#include "net/guarded_listener.hpp"
#include "net/ready_set.hpp"
#include "store/protocol.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::store {
namespace {

// Limit on unread replies; a client beyond it is disconnected.
constexpr std::size_t kMaxQueuedBytes = 8 * kMaxValueBytes;
// Longest wait for a key, whatever a client asks for: more would overflow as nanoseconds.
constexpr std::chrono::milliseconds kLongestPatience = std::chrono::hours(24);

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

using Clock = Deadline::Clock;

struct ParkedGet {
  std::string key;
  std::uint64_t sequence;
  Clock::time_point expires;
};

struct Client {
  net::FrameStream stream;
  std::uint64_t number;  // counts all connections so far
  std::optional<ParkedGet> parked;
  bool is_watched_for_room = false;  // it has replies that the kernel has not accepted yet
};

}  // namespace

// One thread serves all clients; it shares only `client_count` and the wake-up with other threads. The cost of a
// request does not depend on the number of clients: idle ones are not examined.
struct TcpStoreServer::Server {
  Server(const net::SocketAddress& address, std::string token, int generation_number)
      : generation(static_cast<std::uint32_t>(generation_number)),
        listener(address, std::move(token), {net::Role::kStore, generation, -1, 0}),
        bound_address(listener.address()),
        wake_up(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_up.is_open()) throw IoError("eventfd", errno);
    thread = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  ~Server() {
    thread.request_stop();
    ::eventfd_write(wake_up.get(), 1);
  }

  void serve(const std::stop_token& stop) noexcept {
    while (!stop.stop_requested()) {
      try {
        step();
      } catch (const std::exception& error) {
        Logger("store").error(error.what());
        std::this_thread::sleep_for(std::chrono::milliseconds{50});  // the error may recur at once
      }
    }
  }

  void step() {
    std::vector<pollfd> entries{{wake_up.get(), POLLIN, 0}, {ready.fd(), POLLIN, 0}};
    listener.append_poll_entries(entries);
    Deadline next = listener.next_deadline();
    if (!expiries.empty()) next = next.earliest(Deadline::after(expiries.begin()->first - Clock::now()));
    if (::poll(entries.data(), entries.size(), next.poll_timeout_ms()) < 0 && errno != EINTR) {
      throw IoError("poll", errno);
    }
    // Clients come before new connections: however strangers load the listener, the job's own requests are answered.
    for (const std::uint64_t number : ready.take()) {
      if (const auto client = clients.find(number); client != clients.end()) serve_client(client->second);
    }
    expire();
    for (net::AcceptedPeer& peer : listener.advance()) admit(std::move(peer));
    const std::scoped_lock lock(mutex);
    client_count = clients.size();
    changed.notify_all();
  }

  void admit(net::AcceptedPeer peer) {
    peer.socket.set_user_timeout(kLinkLimit);
    peer.socket.set_peer(concat("rank ", peer.identity.rank, " (", peer.socket.peer(), ")"));
    ready.add(peer.socket.fd(), next_number);
    net::FrameStream stream(std::move(peer.socket), {kMaxMessageBytes, generation});
    clients.emplace(next_number, Client{std::move(stream), next_number, std::nullopt});
    ++next_number;
  }

  void serve_client(Client& client) {
    try {
      client.stream.flush();
      for (int count = 0; count < net::FrameStream::kMostPerTurn; ++count) {
        const auto frame = client.stream.receive();
        if (!frame) break;
        answer(client, *frame);
        if (client.stream.queued_bytes() > kMaxQueuedBytes) throw IoError("a client does not read its replies");
      }
      watch_for_room(client);
    } catch (const Error&) {  // closed, or not one of our clients: the others are not affected
      unpark(client);
      ready.remove(client.stream.fd());
      clients.erase(client.number);
    }
  }

  void watch_for_room(Client& client) {
    const bool has_queued = client.stream.queued_bytes() > 0;
    if (std::exchange(client.is_watched_for_room, has_queued) == has_queued) return;
    using Interest = net::ReadySet::Interest;
    ready.change(client.stream.fd(), client.number, has_queued ? Interest::kReadAndWrite : Interest::kRead);
  }

  void answer(Client& client, const net::Frame& frame) {
    if (frame.header.type != net::FrameType::kStoreRequest) throw FormatError("not a store request");
    const Request request = decode_request(frame.payload);
    if (request.operation == Operation::kGet && !values.contains(request.key)) {
      const auto patience =
          std::clamp<std::int64_t>(parse_integer(request.value).value_or(0), 0, kLongestPatience.count());
      const Deadline expires = Deadline::after(std::chrono::milliseconds(patience));
      return park(client, {request.key, frame.header.sequence, expires.when()});
    }
    const Reply result = perform(request);
    wake_parked(request.key);  // first: this client may have gone, and then reply() throws
    reply(client, frame.header.sequence, result);
  }

  Reply perform(const Request& request) {
    const auto found = values.find(request.key);
    const bool exists = found != values.end();
    switch (request.operation) {
      case Operation::kSet:
        values[request.key] = request.value;
        return {};
      case Operation::kGet:
      case Operation::kTryGet:
        return exists ? Reply{Status::kOk, found->second} : Reply{Status::kAbsent, {}};
      case Operation::kAdd:
        return add(request);
      case Operation::kCompareSet:
        if ((exists ? found->second : std::string{}) != request.expected) {
          return {Status::kOk, exists ? found->second : std::string{}};
        }
        return {Status::kOk, values[request.key] = request.value};
      case Operation::kErase:
        return {values.erase(request.key) > 0 ? Status::kOk : Status::kAbsent, {}};
    }
    throw FormatError("unknown store operation");
  }

  Reply add(const Request& request) {
    const auto amount = parse_integer(request.value);
    const auto found = values.find(request.key);
    const auto current = found == values.end() ? std::optional<std::int64_t>(0) : parse_integer(found->second);
    if (!amount || !current) return {Status::kNotAnInteger, {}};
    const auto sum = static_cast<std::uint64_t>(*amount) + static_cast<std::uint64_t>(*current);  // wraps around
    return {Status::kOk, values[request.key] = std::to_string(static_cast<std::int64_t>(sum))};
  }

  void reply(Client& client, std::uint64_t sequence, const Reply& content) {
    const net::FrameHeader header{.type = net::FrameType::kStoreReply, .generation = generation, .sequence = sequence};
    client.stream.send(header, encode(content));
  }

  void park(Client& client, ParkedGet get) {
    unpark(client);
    waiting_for[get.key].insert(client.number);
    expiries.emplace(get.expires, client.number);
    client.parked = std::move(get);
  }

  // The client's waiting request, if it has one.
  std::optional<ParkedGet> unpark(Client& client) {
    if (!client.parked) return std::nullopt;
    const auto waiting = waiting_for.find(client.parked->key);
    waiting->second.erase(client.number);
    if (waiting->second.empty()) waiting_for.erase(waiting);
    expiries.erase({client.parked->expires, client.number});
    return std::exchange(client.parked, std::nullopt);
  }

  void wake_parked(const std::string& key) {
    const auto found = values.find(key);
    const auto waiting = waiting_for.find(key);
    if (found == values.end() || waiting == waiting_for.end()) return;
    const std::set<std::uint64_t> numbers = waiting->second;
    for (const std::uint64_t number : numbers) reply_parked(clients.at(number), {Status::kOk, found->second});
  }

  void expire() {
    const auto now = Clock::now();
    while (!expiries.empty() && expiries.begin()->first <= now) {
      reply_parked(clients.at(expiries.begin()->second), {Status::kAbsent, {}});
    }
  }

  void reply_parked(Client& client, const Reply& content) {
    const auto get = unpark(client);
    try {
      reply(client, get->sequence, content);
      watch_for_room(client);
    } catch (const IoError&) {
      client.stream.socket().shutdown();  // serve_client() will find it closed
    }
  }

  std::uint32_t generation;
  net::GuardedListener listener;
  net::SocketAddress bound_address;
  UniqueFd wake_up;
  net::ReadySet ready;                                // clients' connections, by number
  std::unordered_map<std::uint64_t, Client> clients;  // by number
  std::uint64_t next_number = 0;
  std::map<std::string, std::string> values;
  std::map<std::string, std::set<std::uint64_t>> waiting_for;      // clients with a waiting request, by key
  std::set<std::pair<Clock::time_point, std::uint64_t>> expiries;  // of waiting requests

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t client_count = 0;

  std::jthread thread;  // last: stops before the members that it uses are destroyed
};

TcpStoreServer::TcpStoreServer(const net::SocketAddress& address, std::string token, int generation)
    : server_(std::make_unique<Server>(address, std::move(token), generation)) {}

TcpStoreServer::~TcpStoreServer() = default;

net::SocketAddress TcpStoreServer::address() const { return server_->bound_address; }

void TcpStoreServer::wait_until_unused(const Deadline& deadline) {
  std::unique_lock lock(server_->mutex);
  server_->changed.wait_until(lock, deadline.when(), [this] { return server_->client_count == 0; });
}

}  // namespace lockstep::store
