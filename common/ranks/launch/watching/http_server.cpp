#include "launch/watching/http_server.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "net/address.hpp"
#include "net/tcp_listener.hpp"

namespace lockstep::launch {
namespace {

constexpr std::size_t kMostConnections = 16;
constexpr std::size_t kMostHeadBytes = 8 * 1024;
constexpr std::chrono::seconds kClientLimit{5};
// Time after which a client makes room for another one.
constexpr std::chrono::milliseconds kLeastTime{250};
// Pause after a failure to accept for lack of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};

const char* reason_of(int status) {
  constexpr std::pair<int, const char*> kReasons[] = {{200, "OK"},
                                                      {400, "Bad Request"},
                                                      {403, "Forbidden"},
                                                      {404, "Not Found"},
                                                      {405, "Method Not Allowed"},
                                                      {408, "Request Timeout"},
                                                      {431, "Request Header Fields Too Large"},
                                                      {500, "Internal Server Error"},
                                                      {503, "Service Unavailable"}};
  for (const auto& [known, reason] : kReasons) {
    if (known == status) return reason;
  }
  return "Unknown";
}

std::string to_text(const HttpResponse& response, bool with_body) {
  return concat("HTTP/1.1 ", response.status, " ", reason_of(response.status),
                "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
                "\r\nCache-Control: no-store\r\nConnection: close\r\n",
                response.status == 405 ? "Allow: GET, HEAD\r\n" : "", "\r\n", with_body ? response.body : "");
}

HttpResponse problem(int status, const std::string& text) { return {.status = status, .body = text + "\n"}; }

// The trimmed values of a field, one per occurrence.
std::vector<std::string> values_of(const std::string& head, std::string_view name) {
  std::vector<std::string> values;
  std::istringstream lines(head);
  std::string line;
  std::getline(lines, line);  // the request line
  while (std::getline(lines, line)) {
    const std::size_t colon = line.find(':');
    if (colon != name.size()) continue;
    const bool is_it = std::equal(name.begin(), name.end(), line.begin(),
                                  [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
    if (!is_it) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1), end = line.find_last_not_of(" \t\r");
    values.push_back(begin == std::string::npos || end < begin ? "" : line.substr(begin, end + 1 - begin));
  }
  return values;
}

// "127.0.0.1:8080" -> "127.0.0.1", "[::1]:8080" -> "::1"; empty if it is anything but a host and perhaps a port.
std::string host_in(const std::string& value) {
  const bool is_in_brackets = value.starts_with('[');
  const std::size_t end = is_in_brackets ? value.find(']') : std::min(value.find(':'), value.size());
  if (end == std::string::npos) return "";
  const std::string rest = value.substr(is_in_brackets ? end + 1 : end);  // + 1: past the bracket
  const bool is_port = rest.starts_with(':') && rest.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!rest.empty() && !is_port) return "";
  return is_in_brackets ? value.substr(1, end - 1) : value.substr(0, end);
}

/// One client. It is answered once its request has arrived; further bytes are read and dropped, because closing a
/// socket with unread bytes would discard the response.
class Connection {
 public:
  explicit Connection(net::StreamSocket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] pollfd waiting_for() const noexcept {
    return {socket_.fd(), static_cast<short>(unsent_.empty() ? POLLIN : POLLOUT), 0};
  }
  [[nodiscard]] const Deadline& deadline() const noexcept { return deadline_; }
  /// Time from which it makes room for another client.
  [[nodiscard]] const Deadline& least_time() const noexcept { return least_time_; }
  /// Whether it can be closed without loss: it has not sent a request yet, or has got its response.
  [[nodiscard]] bool is_idle() const noexcept { return unsent_.empty(); }

  /// Reads and writes without waiting. @return  False if the connection should be closed.
  bool advance(const HttpServer::Handler& handler) try {
    if (deadline_.has_expired()) return give_up(problem(408, "no whole request within 5 s"));
    if (!is_answered_ && !read_head()) return true;
    if (!is_answered_) answer(handler);
    return send() || discard();
  } catch (const Error&) {
    return false;  // the client has gone
  }

  /// Answers that the server is busy; the connection is then closed.
  void make_room() try {
    give_up(problem(503, "others wait, and this client had not asked for anything yet"));
  } catch (const Error&) {  // the client has gone
  }

 private:
  // Whether the head is complete, or too long.
  bool read_head() {
    std::array<char, 1024> buffer;
    for (;;) {
      const std::size_t bytes = socket_.receive_some(std::as_writable_bytes(std::span(buffer)));
      if (bytes == 0) return false;
      head_.append(buffer.data(), bytes);
      if (head_.find("\r\n\r\n") != std::string::npos || head_.size() > kMostHeadBytes) return true;
    }
  }

  void answer(const HttpServer::Handler& handler) {
    is_answered_ = true;
    const std::size_t end = head_.find("\r\n\r\n");
    const bool is_too_long = end == std::string::npos || end > kMostHeadBytes;
    const HttpResponse response = is_too_long ? problem(431, "the request's head is longer than 8 KiB")
                                              : answer_http(head_.substr(0, end + 4), handler);
    unsent_ = to_text(response, !head_.starts_with("HEAD "));
  }

  // Returns whether something is left to send.
  bool send() {
    while (!unsent_.empty()) {
      const std::size_t sent = socket_.send_some(std::as_bytes(std::span(unsent_)));
      if (sent == 0) return true;
      unsent_.erase(0, sent);
    }
    if (!std::exchange(is_ended_, true)) ::shutdown(socket_.fd(), SHUT_WR);
    return false;
  }

  // Until the client closes the connection, when receive_some() throws.
  bool discard() {
    std::array<std::byte, 1024> buffer;
    for (std::size_t total = 0; total < kMostHeadBytes;) {
      const std::size_t bytes = socket_.receive_some(std::span(buffer));
      if (bytes == 0) return true;
      total += bytes;
    }
    return true;
  }

  bool give_up(const HttpResponse& why) {
    const std::string text = to_text(why, true);
    if (!is_answered_) (void)socket_.send_some(std::as_bytes(std::span(text)));
    return false;
  }

  net::StreamSocket socket_;
  Deadline deadline_ = Deadline::after(kClientLimit);
  Deadline least_time_ = Deadline::after(kLeastTime);
  std::string head_, unsent_;
  bool is_answered_ = false;
  bool is_ended_ = false;  // this end's direction
};

}  // namespace

HttpResponse answer_http(const std::string& head, const HttpServer::Handler& handler) {
  std::istringstream line(head.substr(0, head.find("\r\n")));
  std::string method, target, version, more;
  line >> method >> target >> version;
  const bool is_request = version == "HTTP/1.1" || version == "HTTP/1.0";
  if (!is_request || line >> more || !target.starts_with('/')) return problem(400, "this is not an HTTP/1.1 request");
  const std::vector<std::string> hosts = values_of(head, "Host");
  if (hosts.empty() && version == "HTTP/1.1") return problem(400, "the request has no Host");
  if (hosts.size() > 1) return problem(400, "the request has more than one Host");
  if (!hosts.empty() && !net::is_loopback(host_in(hosts.front())))
    return problem(403, "this page is for programs of this host: ask for 127.0.0.1 or localhost");
  if (method != "GET" && method != "HEAD") return problem(405, "only GET and HEAD are answered");
  try {
    return handler(target.substr(0, target.find_first_of("?#")));
  } catch (const std::exception& error) {
    return problem(500, error.what());
  }
}

/// The thread's loop.
class HttpServer::Loop {
 public:
  Loop(net::TcpListener listener, int wake_up, Handler handler)
      : listener_(std::move(listener)), wake_up_(wake_up), handler_(std::move(handler)) {}

  void run() {
    while (wait()) {
      std::erase_if(connections_, [this](Connection& connection) { return !connection.advance(handler_); });
      accept();
    }
  }

 private:
  // Returns false if the server ends.
  bool wait() {
    const bool has_room = place_for_one() <= connections_.size();
    const bool accepts = has_room && pause_.has_expired();
    std::vector<pollfd> watched = {{wake_up_, POLLIN, 0}, {accepts ? listener_.fd() : -1, POLLIN, 0}};
    Deadline deadline = pause_.has_expired() ? Deadline::never() : pause_;
    for (const Connection& connection : connections_) {
      watched.push_back(connection.waiting_for());
      deadline = deadline.earliest(connection.deadline());
      if (!has_room) deadline = deadline.earliest(connection.least_time());
    }
    ::poll(watched.data(), watched.size(), deadline.poll_timeout_ms());
    return watched.front().revents == 0;
  }

  // Index for a new connection: after the others, or that of one that makes room; SIZE_MAX if there is none. Prefers
  // idle connections, then the oldest.
  [[nodiscard]] std::size_t place_for_one() const {
    if (connections_.size() < kMostConnections) return connections_.size();
    const auto has_had_its_time = [](const Connection& each) { return each.least_time().has_expired(); };
    auto found = std::ranges::find_if(connections_,
                                      [&](const Connection& each) { return each.is_idle() && has_had_its_time(each); });
    if (found == connections_.end()) found = std::ranges::find_if(connections_, has_had_its_time);
    return found == connections_.end() ? SIZE_MAX : static_cast<std::size_t>(found - connections_.begin());
  }

  // A client that sends its request at once is answered at once, before another can take its place.
  void accept() {
    for (std::size_t place; pause_.has_expired() && (place = place_for_one()) <= connections_.size();) {
      try {
        std::optional<net::StreamSocket> socket = listener_.try_accept();
        if (!socket) return;
        if (place < connections_.size()) {
          connections_[place].make_room();
          connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(place));
        }
        connections_.emplace_back(*std::move(socket));
        if (!connections_.back().advance(handler_)) connections_.pop_back();
      } catch (const IoError&) {  // no descriptors: the client waits
        pause_ = Deadline::after(kAcceptPause);
      }
    }
  }

  net::TcpListener listener_;
  int wake_up_;
  Handler handler_;
  Deadline pause_ = Deadline::after(std::chrono::milliseconds(0));
  std::vector<Connection> connections_;
};

HttpServer::HttpServer(int port, Handler handler) : wake_up_(::eventfd(0, EFD_CLOEXEC)) {
  if (!wake_up_.is_open()) throw IoError("an HTTP server's event", errno);
  net::TcpListener listener(net::SocketAddress{"127.0.0.1", port});
  port_ = listener.address().port;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the thread, which must not receive signals
  try {
    thread_ =
        std::thread([loop = Loop(std::move(listener), wake_up_.get(), std::move(handler))]() mutable { loop.run(); });
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw IoError("an HTTP server's thread", error.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HttpServer::~HttpServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_up_.get(), &one, sizeof(one));
  thread_.join();
}

}  // namespace lockstep::launch
