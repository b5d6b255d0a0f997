#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/loopback_pair.hpp"
#include "net/resolve.hpp"
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
  CHECK_THROWS_AS(pair.left.send_all(bytes, Deadline::after(100ms)), TimeoutError);
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

namespace {

using net::AddressList;

// Address lists as getaddrinfo() makes them, of numbers.
addrinfo* list_of(const char* host, const char* port, const addrinfo* hints) {
  addrinfo* found = nullptr;
  addrinfo numeric = *hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  return ::getaddrinfo(host, port, &numeric, &found) == 0 ? found : nullptr;
}

// A name server that does not answer in time.
int slow_lookup(const char* host, const char* port, const addrinfo* hints, addrinfo** found) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return ::getaddrinfo(host, port, hints, found);
  std::this_thread::sleep_for(1500ms);
  *found = list_of("127.0.0.1", port, hints);
  return 0;
}

// A name of two addresses.
int double_lookup(const char*, const char* port, const addrinfo* hints, addrinfo** found) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
  *found = list_of("127.0.0.2", port, hints);
  (*found)->ai_next = list_of("127.0.0.1", port, hints);
  return 0;
}

// A port of 127.0.0.2 whose queue is full: the kernel drops what else comes, as a host that is switched off does.
class FullListener {
 public:
  FullListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    socklen_t bytes = sizeof raw;
    ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&raw), sizeof raw);
    ::listen(fd_.get(), 0);
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&raw), &bytes);
    port_ = ntohs(raw.sin_port);
    while (fills_.size() < 100 && try_to_connect()) {
    }
  }
  int port() const { return port_; }
  bool is_full() const { return fills_.size() < 100; }

 private:
  bool try_to_connect() {
    try {
      fills_.push_back(StreamSocket::connect({"127.0.0.2", port_}, Deadline::after(100ms)));
    } catch (const TimeoutError&) {
      return false;
    }
    return true;
  }

  UniqueFd fd_;
  int port_ = 0;
  std::vector<StreamSocket> fills_;
};

}  // namespace

TEST_CASE("a name server that does not answer is waited for until the deadline, not longer", "[net]") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(net::resolve({"node7", 80}, Deadline::after(100ms), slow_lookup),
                    ContainsSubstring("'node7'") && ContainsSubstring("name server"));
  CHECK(std::chrono::steady_clock::now() - begin < 1400ms);  // before the answer comes
  const AddressList found = net::resolve({"node7", 80}, Deadline::never(), slow_lookup);
  CHECK(found->ai_next == nullptr);
  CHECK_NOTHROW(net::resolve({"127.0.0.1", 80}, Deadline::after(0ms), slow_lookup));  // a number needs no answer
}

TEST_CASE("an address that does not answer leaves time for the name's other addresses", "[net]") {
  const FullListener full;
  REQUIRE(full.is_full());
  const TcpListener good({"127.0.0.1", full.port()});
  const AddressList both = net::resolve({"node7", full.port()}, Deadline::never(), double_lookup);
  REQUIRE(both->ai_next != nullptr);
  const Deadline deadline = Deadline::after(4s);
  CHECK(net::connect_to_any(*both, "node7", deadline).is_open());
  CHECK_FALSE(deadline.has_expired());  // the first address would have taken all of it
}
