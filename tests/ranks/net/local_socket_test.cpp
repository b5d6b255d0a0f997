#include "net/local_socket.hpp"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>

#include "base/error.hpp"
#include "net/guarded_listener.hpp"
#include "net/handshake.hpp"
#include "net/rank_and_listener.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace lockstep::net;
using namespace std::chrono_literals;
using test::kToken;
using test::soon;

namespace {

const Identity kIdentity{Role::kCollective, 0, 1, 7};

// A message that send_descriptor() never sends.
void send_two_descriptors(const StreamSocket& socket) {
  const std::array<int, 2> both{STDIN_FILENO, STDIN_FILENO};
  std::byte mark{0x4C};
  iovec part{&mark, 1};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof both)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const entry = CMSG_FIRSTHDR(&header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(sizeof both);
  std::memcpy(CMSG_DATA(entry), both.data(), sizeof both);
  REQUIRE(::sendmsg(socket.fd(), &header, MSG_NOSIGNAL) == 1);
}

// The lowest number that an open file would get.
int next_descriptor() { return UniqueFd(::dup(STDIN_FILENO)).get(); }

}  // namespace

TEST_CASE("an open file travels between processes of a host, after both ends have proved the token", "[net]") {
  GuardedListener listener(kToken, kIdentity, listen_local());
  CHECK(listener.address().host[0] == '@');
  std::array<int, 2> raw{};
  REQUIRE(::pipe(raw.data()) == 0);
  const UniqueFd read_end(raw[0]);
  UniqueFd write_end(raw[1]);

  auto client = std::async(std::launch::async, [address = listener.address().host] {
    StreamSocket socket = connect_local(address, soon());
    authenticate(socket, kToken, kIdentity, soon());
    const UniqueFd received = receive_descriptor(socket, soon());
    return ::write(received.get(), "x", 1);
  });
  AcceptedPeer peer = listener.accept(soon());
  CHECK(peer.identity.rank == 1);
  send_descriptor(peer.socket, write_end.get(), soon());
  CHECK(client.get() == 1);

  write_end.reset();
  std::array<char, 2> content{};
  CHECK(::read(read_end.get(), content.data(), content.size()) == 1);  // and then the end: nobody else can write
  CHECK(content[0] == 'x');
  CHECK(::read(read_end.get(), content.data(), content.size()) == 0);
}

TEST_CASE("who does not know the token gets nothing through a local socket", "[net]") {
  GuardedListener listener(kToken, kIdentity, listen_local());
  auto client = std::async(std::launch::async, [address = listener.address().host]() -> std::string {
    try {
      StreamSocket socket = connect_local(address, soon());
      authenticate(socket, "another token, long enough", kIdentity, soon());
    } catch (const Error& error) {
      return error.what();
    }
    return "let in";
  });
  CHECK_THROWS_AS(listener.accept(Deadline::after(500ms)), TimeoutError);
  CHECK_THAT(client.get(), ContainsSubstring("token"));
  CHECK(listener.refused_count() == 1);
}

TEST_CASE("a local address that nobody listens on is an error at once", "[net]") {
  std::string address;
  {
    const TcpListener listener = listen_local();
    address = listener.address().host;
  }
  CHECK_THROWS_AS(connect_local(address, soon()), IoError);
  CHECK_THROWS_AS(connect_local("no address", soon()), FormatError);
}

TEST_CASE("a byte without a descriptor, and a connection that closes, are no descriptor", "[net]") {
  TcpListener listener = listen_local();
  StreamSocket client = connect_local(listener.address().host, soon());
  {
    StreamSocket server = listener.accept(soon());
    const std::array<std::byte, 1> mark{std::byte{0x4C}};
    server.send_all(mark, soon());
    CHECK_THROWS_AS(receive_descriptor(client, soon()), FormatError);
    CHECK_THROWS_AS(receive_descriptor(client, Deadline::after(50ms)), TimeoutError);
  }
  CHECK_THROWS_AS(receive_descriptor(client, soon()), IoError);
}

TEST_CASE("who sends two descriptors is refused, and none of them stays open", "[net]") {
  TcpListener listener = listen_local();
  StreamSocket client = connect_local(listener.address().host, soon());
  const StreamSocket server = listener.accept(soon());
  const int next = next_descriptor();
  send_two_descriptors(server);
  CHECK_THROWS_AS(receive_descriptor(client, soon()), FormatError);
  CHECK(next_descriptor() == next);
}

TEST_CASE("a process without a free descriptor says so, and does not blame the sender", "[net]") {
  TcpListener listener = listen_local();
  StreamSocket client = connect_local(listener.address().host, soon());
  StreamSocket server = listener.accept(soon());
  send_descriptor(server, STDIN_FILENO, soon());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none_free = before;
  none_free.rlim_cur = static_cast<rlim_t>(next_descriptor());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none_free) == 0);
  std::string message = "nothing";
  try {
    (void)receive_descriptor(client, soon());
  } catch (const IoError& error) {
    message = error.what();
  } catch (const Error& error) {
    message = concat("not an IoError: ", error.what());
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_THAT(message, ContainsSubstring("ulimit -n"));
  CHECK_THAT(message, !ContainsSubstring("not an IoError"));
}
