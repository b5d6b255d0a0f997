#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <list>
#include <map>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/frame_stream.hpp"
#include "net/guarded_listener.hpp"
#include "store/protocol.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::store {
namespace {

// A client that does not read its replies is cut off beyond this.
constexpr std::size_t kMaxQueuedBytes = 8 * kMaxValueBytes;

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

struct ParkedGet {
  std::string key;
  std::uint64_t sequence;
  Deadline deadline;
};

struct Client {
  net::FrameStream stream;
  std::optional<ParkedGet> parked;
};

}  // namespace

// One thread serves everybody with poll(2); only `client_count` and the wake-up are shared with other threads.
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
        std::this_thread::sleep_for(std::chrono::milliseconds{50});  // it may come again at once
      }
    }
  }

  void step() {
    std::vector<pollfd> entries{{wake_up.get(), POLLIN, 0}};
    listener.append_poll_entries(entries);
    Deadline next = listener.next_deadline();
    for (const Client& client : clients) {
      entries.push_back({client.stream.fd(), client.stream.poll_events(), 0});
      if (client.parked) next = next.earliest(client.parked->deadline);
    }
    if (::poll(entries.data(), entries.size(), next.poll_timeout_ms()) < 0 && errno != EINTR) {
      throw IoError("poll", errno);
    }
    // Those who are in come first: whatever strangers do to the listener, the job's own requests are answered.
    serve_clients();
    for (net::AcceptedPeer& peer : listener.advance()) {
      peer.socket.set_user_timeout(kLinkLimit);
      peer.socket.set_peer(concat("rank ", peer.identity.rank, " (", peer.socket.peer(), ")"));
      clients.push_back({net::FrameStream(std::move(peer.socket), {kMaxMessageBytes, generation}), std::nullopt});
    }
    const std::scoped_lock lock(mutex);
    client_count = clients.size();
    changed.notify_all();
  }

  void serve_clients() {
    for (auto client = clients.begin(); client != clients.end();) {
      try {
        client->stream.flush();
        while (const auto frame = client->stream.receive()) answer(*client, *frame);
        expire(*client);
        if (client->stream.queued_bytes() > kMaxQueuedBytes) throw IoError("a client does not read its replies");
        ++client;
      } catch (const Error&) {  // closed, or no client of ours: the others are not affected
        client = clients.erase(client);
      }
    }
  }

  void answer(Client& client, const net::Frame& frame) {
    if (frame.header.type != net::FrameType::kStoreRequest) throw FormatError("not a store request");
    const Request request = decode_request(frame.payload);
    if (request.operation == Operation::kGet && !values.contains(request.key)) {
      const auto patience = std::chrono::milliseconds(parse_integer(request.value).value_or(0));
      client.parked = ParkedGet{request.key, frame.header.sequence, Deadline::after(patience)};
      return;
    }
    reply(client, frame.header.sequence, perform(request));
    wake_parked(request.key);
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
    const auto sum = static_cast<std::uint64_t>(*amount) + static_cast<std::uint64_t>(*current);  // wraps, never traps
    return {Status::kOk, values[request.key] = std::to_string(static_cast<std::int64_t>(sum))};
  }

  void reply(Client& client, std::uint64_t sequence, const Reply& content) {
    const net::FrameHeader header{.type = net::FrameType::kStoreReply, .generation = generation, .sequence = sequence};
    client.stream.send(header, encode(content));
  }

  void wake_parked(const std::string& key) {
    const auto found = values.find(key);
    if (found == values.end()) return;
    for (Client& client : clients) {
      if (!client.parked || client.parked->key != key) continue;
      const std::uint64_t sequence = client.parked->sequence;
      client.parked.reset();
      try {
        reply(client, sequence, {Status::kOk, found->second});
      } catch (const IoError&) {
        client.stream.socket().shutdown();  // its own turn in serve_clients() finds it closed
      }
    }
  }

  void expire(Client& client) {
    if (!client.parked || !client.parked->deadline.has_expired()) return;
    const std::uint64_t sequence = client.parked->sequence;
    client.parked.reset();
    reply(client, sequence, {Status::kAbsent, {}});
  }

  std::uint32_t generation;
  net::GuardedListener listener;
  net::SocketAddress bound_address;
  UniqueFd wake_up;
  std::list<Client> clients;
  std::map<std::string, std::string> values;

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t client_count = 0;

  std::jthread thread;  // last: stops before anything it uses goes
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
