#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <climits>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/loopback_pair.hpp"
#include "net/stream_socket.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::as_bytes;
using net::StreamSocket;
using net::TcpListener;
using test::connect_pair;

namespace {

std::vector<std::byte> pattern(std::size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 251) & 0xFF);
  return bytes;
}

// The kernel's name for how a connection reacts to congestion.
std::string congestion_control_of(const StreamSocket& socket) {
  std::array<char, 32> name{};
  socklen_t bytes = name.size() - 1;  // - 1: what is left ends the text
  if (::getsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes) != 0) return "unknown";
  return name.data();
}

}  // namespace

TEST_CASE("both ends of a connection within one host send without a pacing timer", "[net]") {
  const auto pair = connect_pair();
  CHECK(congestion_control_of(pair.left) == "reno");
  CHECK(congestion_control_of(pair.right) == "reno");
}

TEST_CASE("a connection asks whether its silent other end is still there", "[net]") {
  auto pair = connect_pair();
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    return ::getsockopt(pair.left.fd(), level, name, &value, &bytes) == 0 ? value : -1;
  };
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) + option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT) ==
        120);
  CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 0);  // the kernel's
  pair.left.set_user_timeout(30s);
  CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 30'000);
  pair.left.set_user_timeout(std::chrono::hours{24 * 365});  // more than the kernel can count
  CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == INT_MAX);
}

TEST_CASE("a message far larger than the kernel's buffers arrives whole", "[net]") {
  auto pair = connect_pair();
  const auto sent = pattern(8 << 20, 1);
  const auto deadline = Deadline::after(20s);
  std::jthread sender([&] { pair.left.send_all(std::span(sent).first(64), std::span(sent).subspan(64), deadline); });
  std::vector<std::byte> received(sent.size());
  pair.right.receive_exactly(received, deadline);
  CHECK(received == sent);
}

TEST_CASE("a peer that closes half-way is named with the amounts", "[net]") {
  auto pair = connect_pair();
  pair.right.set_peer("rank 3");
  pair.left.send_all(as_bytes("12345"), Deadline::after(5s));
  pair.left.close();
  std::vector<std::byte> received(8);
  CHECK_THROWS_WITH(pair.right.receive_exactly(received, Deadline::after(5s)),
                    "rank 3 closed the connection (5 of 8 bytes received)");
}

TEST_CASE("a silent peer ends in a timeout that says how much arrived", "[net]") {
  auto pair = connect_pair();
  pair.right.set_peer("rank 3");
  pair.left.send_all(as_bytes("12345"), Deadline::after(5s));
  std::vector<std::byte> received(8);
  CHECK_THROWS_AS(pair.right.receive_exactly(received, Deadline::after(50ms)), TimeoutError);
  pair.left.send_all(as_bytes("12345"), Deadline::after(5s));
  CHECK_THROWS_WITH(pair.right.receive_exactly(received, Deadline::after(50ms)),
                    ContainsSubstring("no data from rank 3 for ") && ContainsSubstring("(5 of 8 bytes received)"));
}

TEST_CASE("a peer that does not read ends in a timeout of the sender", "[net]") {
  auto pair = connect_pair();
  const auto bytes = pattern(32 << 20, 1);
  CHECK_THROWS_WITH(pair.left.send_all(bytes, Deadline::after(100ms)), ContainsSubstring(" took no data for "));
}

TEST_CASE("a timeout tells a peer's silence from the time that earlier data took", "[net]") {
  auto pair = connect_pair();
  const auto deadline = Deadline::after(300ms);
  std::this_thread::sleep_for(200ms);  // as if earlier messages came slowly
  std::vector<std::byte> received(8);
  CHECK_THROWS_WITH(pair.right.receive_exactly(received, deadline),
                    ContainsSubstring("for the last 0.") && ContainsSubstring("(0 of 8 bytes received)"));
}

TEST_CASE("a deadline ends a message that still arrives", "[net]") {
  auto pair = connect_pair();
  const auto sent = pattern(32 << 20, 1);  // more than the kernel's buffers hold
  std::jthread sender([&] {
    try {
      pair.left.send_all(sent, Deadline::after(20s));
    } catch (const Error&) {  // the receiver has left
    }
  });
  REQUIRE(pair.right.wait_readable(Deadline::after(20s)));
  std::vector<std::byte> received(sent.size());
  CHECK_THROWS_WITH(pair.right.receive_exactly(received, Deadline::after(0s)),
                    ContainsSubstring("the data from") && ContainsSubstring("did not all arrive within"));
  pair.right.close();
}

TEST_CASE("a message that is there is received after the deadline, too", "[net]") {
  auto pair = connect_pair();
  pair.left.send_all(as_bytes("12345"), Deadline::after(0s));
  REQUIRE(pair.right.wait_readable(Deadline::after(20s)));
  std::vector<std::byte> received(5);
  CHECK_NOTHROW(pair.right.receive_exactly(received, Deadline::after(0s)));
}

TEST_CASE("shutdown from another thread interrupts a receiver", "[net]") {
  auto pair = connect_pair();
  std::jthread stopper([&] { pair.right.shutdown(); });
  std::vector<std::byte> received(8);
  CHECK_THROWS_AS(pair.right.receive_exactly(received, Deadline::after(20s)), IoError);
}

TEST_CASE("connect waits for a listener that comes later", "[net]") {
  const net::SocketAddress address = TcpListener().address();  // free again at the end of this line
  std::jthread late([&] {
    std::this_thread::sleep_for(50ms);
    TcpListener listener(address);
    (void)listener.accept(Deadline::after(10s));
  });
  CHECK(StreamSocket::connect(address, Deadline::after(10s)).is_open());
}

TEST_CASE("connect to where nobody listens gives up at the deadline and says why", "[net]") {
  const net::SocketAddress address = TcpListener().address();
  CHECK_THROWS_WITH(StreamSocket::connect(address, Deadline::after(80ms)),
                    ContainsSubstring(address.text()) && ContainsSubstring("Connection refused"));
}

TEST_CASE("a port that is taken is named", "[net]") {
  const TcpListener first;
  CHECK_THROWS_WITH(TcpListener(first.address()), ContainsSubstring(first.address().text()));
}
