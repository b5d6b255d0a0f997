#include "net/guarded_listener.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/handshake_wire.hpp"
#include "net/rank_and_listener.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::as_bytes;
using net::GuardedListener;
using net::Identity;
using net::Role;
using net::StreamSocket;
using test::accept_one;
using test::await_refusal;
using test::connect_rank_2;
using test::kExpected;
using test::kRank2;
using test::kToken;
using test::soon;

namespace {

// The answer to a rank with this token and identity.
std::string answer_to_rank(const std::string& token, const Identity& identity) {
  GuardedListener listener({}, kToken, kExpected);
  const auto accepting = accept_one(listener);
  try {
    (void)net::connect_authenticated(listener.address(), token, identity, "rank 0", soon());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// A rank connects and is let in.
bool honest_rank_gets_in(GuardedListener& listener) {
  auto connecting = connect_rank_2(listener.address());
  const net::AcceptedPeer peer = listener.accept(soon());
  return connecting.get().is_open() && peer.identity.rank == 2 && peer.identity.tag == 77;
}

}  // namespace

TEST_CASE("a rank that knows the token is let in under its name", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  CHECK(honest_rank_gets_in(listener));
}

TEST_CASE("a wrong token, generation or port are each told apart", "[net]") {
  CHECK(answer_to_rank(kToken, kRank2) == "accepted");
  CHECK_THAT(answer_to_rank("fedcba9876543210", kRank2), ContainsSubstring("LOCKSTEP_TOKEN"));
  CHECK_THAT(answer_to_rank(kToken, {Role::kCollective, 3, 2, 0}), ContainsSubstring("generation 4"));
  CHECK_THAT(answer_to_rank(kToken, {Role::kStore, 4, 2, 0}), ContainsSubstring("wrong port"));
}

TEST_CASE("strangers of every kind do not keep an honest rank out", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  std::vector<StreamSocket> strangers;
  for (const char* opening : {"", "GET / HTTP/1.1\r\n\r\n", "LK", "LKSH", "\xFF\xFF\xFF\xFF\xFF\xFF"}) {
    strangers.push_back(StreamSocket::connect(listener.address(), soon()));
    strangers.back().send_all(as_bytes(opening), soon());
  }
  CHECK(honest_rank_gets_in(listener));
  CHECK(listener.refused_count() >= 2);  // those whose first bytes are wrong; the silent ones still have time
}

TEST_CASE("a thousand silent connections are bounded and do not keep an honest rank out", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  std::vector<StreamSocket> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(StreamSocket::connect(listener.address(), soon()));
  CHECK(honest_rank_gets_in(listener));
  strangers.clear();
  for (int i = 0; i < 600; ++i) strangers.push_back(StreamSocket::connect(listener.address(), soon()));
  CHECK(honest_rank_gets_in(listener));
  std::vector<pollfd> entries;
  listener.append_poll_entries(entries);
  CHECK(entries.size() <= GuardedListener::kMaxStrangers + 1);  // and the listening descriptor
}

namespace {

// Fills a listener with ranks that have begun the handshake and take their time with the proof, lets a crowd come, and
// tells how many of the ranks the listener has dropped. Nothing if that took so long that it may drop them.
std::optional<int> dropped_for_a_crowd() {
  GuardedListener listener({}, kToken, kExpected);
  const Deadline turn = Deadline::after(GuardedListener::kTurn);
  const net::HandshakeTerms terms{.client = kRank2, .client_nonce = net::make_nonce()};
  std::vector<StreamSocket> slow, crowd;
  for (std::size_t i = 0; i < GuardedListener::kMaxStrangers; ++i) {
    slow.push_back(StreamSocket::connect(listener.address(), soon()));
    slow.back().send_all(net::encode_hello(terms), soon());
    (void)listener.advance();
  }
  for (int i = 0; i < 50; ++i) {
    crowd.push_back(StreamSocket::connect(listener.address(), soon()));
    (void)listener.advance();
  }
  int dropped = 0;
  for (StreamSocket& each : slow) {
    std::array<std::byte, net::kChallengeBytes + 1> challenge{};  // + 1: the byte after it is its end
    try {
      each.receive_exactly(challenge, Deadline::after(0ms));
    } catch (const TimeoutError&) {  // it waits for the proof
    } catch (const IoError&) {
      ++dropped;
    }
  }
  if (turn.has_expired()) return std::nullopt;
  CHECK(honest_rank_gets_in(listener));  // once the others have had their turn
  return dropped;
}

}  // namespace

TEST_CASE("ranks that have begun the handshake are not dropped for a crowd that comes later", "[net]") {
  std::optional<int> dropped;
  for (int attempt = 0; attempt < 20 && !dropped; ++attempt) dropped = dropped_for_a_crowd();
  CHECK(dropped == 0);
}

TEST_CASE("a timeout tells of the strangers that came instead", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  auto stranger = StreamSocket::connect(listener.address(), soon());
  stranger.send_all(as_bytes("GET / HTTP/1.1\r\n\r\n"), soon());
  await_refusal(listener);
  CHECK_THROWS_WITH(listener.accept(Deadline::after(20ms)),
                    ContainsSubstring("refused 1 stranger,") && ContainsSubstring("GET / HTTP/1.1"));
}

TEST_CASE("a client notices that another program listens, also a silent one", "[net]") {
  net::TcpListener other;
  const auto connect = [&](std::chrono::milliseconds limit) {
    (void)net::connect_authenticated(other.address(), kToken, kRank2, "rank 0", Deadline::after(limit));
  };
  CHECK_THROWS_WITH(connect(500ms), ContainsSubstring("another program"));
  (void)other.accept(soon());
  std::jthread web_server([&] {
    auto client = other.accept(soon());
    client.send_all(as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), soon());
    std::byte ignored[56];
    client.receive_exactly(ignored, soon());
  });
  CHECK_THROWS_WITH(connect(5000ms), ContainsSubstring("HTTP/1") && ContainsSubstring("is the port right?"));
}

TEST_CASE("a turn takes a bounded number of connections, however many wait", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  std::vector<StreamSocket> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(StreamSocket::connect(listener.address(), soon()));
  (void)listener.advance();
  std::vector<pollfd> entries;
  listener.append_poll_entries(entries);
  CHECK(entries.size() <= GuardedListener::kMaxAcceptsPerTurn + 1);  // and the listening descriptor
  CHECK(honest_rank_gets_in(listener));
}

namespace {

// The next action of accept4() in place of its work, and the number of its calls; below.
std::vector<int> accept_errors;
int accept_calls = 0;

}  // namespace

// In place of the C library's, for the whole program.
extern "C" int accept4(int fd, sockaddr* address, socklen_t* address_bytes, int flags) {
  ++accept_calls;
  if (accept_errors.empty()) {
    return static_cast<int>(::syscall(SYS_accept4, fd, address, address_bytes, flags));
  }
  errno = accept_errors.back();
  accept_errors.pop_back();
  return -1;
}

TEST_CASE("a connection that breaks in the queue does not end the listener, whatever its error is", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  for (const int error : {ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
                          ENETUNREACH, ETIMEDOUT, EPERM, EINTR}) {
    CAPTURE(error);
    accept_errors = {error};
    CHECK(honest_rank_gets_in(listener));
  }
  accept_errors.assign(1000, ECONNABORTED);
  (void)listener.advance();
  CHECK(accept_errors.size() > 900);  // the turn has ended nevertheless
  accept_errors.clear();
}

TEST_CASE("a listener without descriptors or memory waits a while, and then goes on", "[net]") {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    CAPTURE(error);
    GuardedListener listener({}, kToken, kExpected);
    accept_errors = {error};
    CHECK(listener.advance().empty());
    std::vector<pollfd> entries;
    listener.append_poll_entries(entries);
    CHECK(entries.empty());  // a listener in it would wake poll at once, all the time
    CHECK(listener.next_deadline().remaining() <= GuardedListener::kPause);
    const int calls_before = accept_calls;
    for (int i = 0; i < 100; ++i) CHECK(listener.advance().empty());
    CHECK(accept_calls <= calls_before + 1);
    CHECK(honest_rank_gets_in(listener));
  }
}
