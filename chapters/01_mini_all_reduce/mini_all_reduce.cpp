#include "01_mini_all_reduce/mini_all_reduce.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/token.hpp"

namespace lockstep::star {
namespace {

// Here a kCollective frame carries float32 values, and a kControl frame the reason for a refusal.
net::FrameHeader header_of(net::FrameType type, int rank) { return {.type = type, .source_rank = rank}; }

std::uint64_t bytes_of_count(std::int64_t count) { return static_cast<std::uint64_t>(count) * sizeof(float); }

// The `count` values in a message. The sender chose its length, so check it before copying anything.
std::vector<float> to_values(const net::Frame& frame, std::int64_t count, const std::string& sender) {
  if (frame.header.type != net::FrameType::kCollective) throw FormatError(sender + " sent no values");
  if (frame.payload.size() != bytes_of_count(count)) {
    throw FormatError(concat(sender, " sent ", frame.payload.size(), " bytes, expected ", bytes_of_count(count)));
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  if (!values.empty()) std::memcpy(values.data(), frame.payload.data(), frame.payload.size());
  return values;
}

// The same token for every port, so that clients can reach a server on a free port.
std::string token_of(const MiniOptions& options) {
  return net::find_token({options.address.host, MiniOptions{}.address.port});
}

constexpr std::uint64_t kLongestReason = 1024;
constexpr std::uint64_t kLongestMessage = 1 << 20;  // a longer one is not even read

}  // namespace

std::string to_text(std::span<const float> values) {
  constexpr std::size_t kShown = 4;
  std::string text = "[";
  for (const float value : values.first(std::min(values.size(), values.size() > kShown ? kShown - 1 : kShown))) {
    text += concat(text.size() > 1 ? ", " : "", value);
  }
  return text + (values.size() > kShown ? concat(", ..., ", values.back(), "]") : "]");
}

MiniServer::MiniServer(const MiniOptions& options, std::ostream& transcript)
    : options_(options),
      transcript_(transcript),
      listener_(options.address, token_of(options), {.role = net::Role::kCollective}) {
  transcript_ << concat("server: listening on ", address().text(), " for ", options_.world_size, " clients\n")
              << std::flush;
}

std::vector<float> MiniServer::run() {
  const Deadline deadline = Deadline::after(options_.timeout);
  while (!is_complete()) {
    if (deadline.has_expired()) {
      throw TimeoutError(concat("no values from client(s) ", missing_ranks(), " within ",
                                format_seconds(options_.timeout),
                                "; start the missing ones, or allow more time with --timeout"));
    }
    wait(deadline);
    // First drop clients that have left, then admit new ones: a new client may take a dead one's rank.
    for (Client& client : clients_) read(client);
    clients_.remove_if([](const Client& client) { return client.is_gone; });
    for (net::AcceptedPeer& peer : listener_.advance()) admit(std::move(peer));
    report_strangers();
  }
  // In the order of ranks, not of arrival: floating-point sums depend on the order, and runs must repeat.
  clients_.sort([](const Client& a, const Client& b) { return a.rank < b.rank; });
  std::vector<float> sum(static_cast<std::size_t>(options_.count));
  for (const Client& client : clients_) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += client.values[i];
  }
  transcript_ << concat("server: the sum is ", to_text(sum), "\n") << std::flush;
  send_to_all(sum, deadline);
  return sum;
}

void MiniServer::wait(const Deadline& deadline) const {
  std::vector<pollfd> entries;
  listener_.append_poll_entries(entries);
  for (const Client& client : clients_) entries.push_back({client.stream.fd(), client.stream.poll_events(), 0});
  const Deadline soonest = deadline.earliest(listener_.next_deadline());
  const int ready = ::poll(entries.data(), entries.size(), soonest.poll_timeout_ms());
  if (ready < 0 && errno != EINTR) throw IoError("server: poll", errno);
}

void MiniServer::admit(net::AcceptedPeer peer) {
  const int rank = peer.identity.rank;
  peer.socket.set_peer(concat("client ", rank));
  Client& client = clients_.emplace_back(
      Client{rank, net::FrameStream(std::move(peer.socket), {.max_payload_bytes = kLongestMessage}), {}});
  const auto is_same = [&](const Client& other) { return &other != &client && other.rank == rank; };
  if (rank < 0 || rank >= options_.world_size) {
    drop(client, concat("no such rank: clients are 0 to ", options_.world_size - 1));
  } else if (std::any_of(clients_.begin(), clients_.end(), is_same)) {
    drop(client, "this rank is already connected");
  } else {
    transcript_ << concat("server: client ", rank, " connected\n") << std::flush;
  }
}

void MiniServer::report_strangers() {
  if (listener_.refused_count() == reported_strangers_) return;
  reported_strangers_ = listener_.refused_count();
  transcript_ << concat("server: refused a stranger: ", listener_.last_refusal(), "\n") << std::flush;
}

void MiniServer::read(Client& client) {
  if (client.is_gone) return;
  try {
    const std::optional<net::Frame> frame = client.stream.receive();
    if (!frame) return;
    if (client.has_contributed) return drop(client, "it has already sent its values");
    client.values = to_values(*frame, options_.count, "it");
    client.has_contributed = true;
    transcript_ << concat("server: received ", to_text(client.values), " from client ", client.rank, "\n")
                << std::flush;
  } catch (const Error& error) {
    drop(client, error.what());
  }
}

void MiniServer::drop(Client& client, const std::string& reason) {
  client.is_gone = true;
  transcript_ << concat("server: client ", client.rank, " is dropped: ", reason, "\n") << std::flush;
  try {
    client.stream.send(header_of(net::FrameType::kControl, -1), net::as_bytes(reason.substr(0, kLongestReason)));
  } catch (const Error&) {
    // No way to tell this client: it is the one that left.
  }
}

void MiniServer::send_to_all(std::span<const float> sum, const Deadline& deadline) {
  int reached = 0;
  for (Client& client : clients_) {
    try {
      net::send_frame(client.stream.socket(), header_of(net::FrameType::kCollective, -1), std::as_bytes(sum), deadline);
      ++reached;
    } catch (const Error& error) {
      transcript_ << concat("server: client ", client.rank, " did not get the sum: ", error.what(), "\n");
    }
  }
  transcript_ << concat("server: sent the sum to ", reached, " clients\n") << std::flush;
}

std::string MiniServer::missing_ranks() const {
  std::string text;
  for (int rank = 0; rank < options_.world_size; ++rank) {
    const auto is_here = [rank](const Client& client) { return client.rank == rank && client.has_contributed; };
    if (std::none_of(clients_.begin(), clients_.end(), is_here)) text += concat(text.empty() ? "" : ", ", rank);
  }
  return text;
}

bool MiniServer::is_complete() const { return missing_ranks().empty(); }

std::vector<float> contribute(int rank, std::span<const float> values, const MiniOptions& options,
                              std::ostream& transcript) {
  const Deadline deadline = Deadline::after(options.timeout);
  const net::Identity identity{.role = net::Role::kCollective, .rank = rank};
  net::StreamSocket server =
      net::connect_authenticated(options.address, token_of(options), identity, "the server", deadline);
  transcript << concat("client ", rank, ": connected to ", server.peer(), "\n") << std::flush;

  net::send_frame(server, header_of(net::FrameType::kCollective, rank), std::as_bytes(values), deadline);
  transcript << concat("client ", rank, ": sent ", to_text(values), "\n") << std::flush;

  const net::FrameLimits limits{.max_payload_bytes = std::max<std::uint64_t>(values.size_bytes(), kLongestReason)};
  const net::Frame frame = net::receive_frame(server, limits, deadline);
  if (frame.header.type == net::FrameType::kControl) {
    throw Error(concat("the server refused client ", rank, ": ", net::to_text(frame.payload)));
  }
  const std::vector<float> sum = to_values(frame, std::ssize(values), server.peer());
  transcript << concat("client ", rank, ": received the sum ", to_text(sum), "\n") << std::flush;
  return sum;
}

}  // namespace lockstep::star
