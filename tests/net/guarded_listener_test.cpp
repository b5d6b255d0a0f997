#include "net/guarded_listener.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/token.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::as_bytes;
using net::GuardedListener;
using net::Identity;
using net::Role;
using net::StreamSocket;

namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";
constexpr Identity kExpected{Role::kCollective, 4, -1, 0};
constexpr Identity kRank2{Role::kCollective, 4, 2, 77};
const auto kSoon = [] { return Deadline::after(10s); };

// What a rank with this token and identity is told.
std::string answer_to(const std::string& token, const Identity& identity) {
  GuardedListener listener({}, kToken, kExpected);
  auto accepting = std::async(std::launch::async, [&] {
    try {
      (void)listener.accept(Deadline::after(300ms));
    } catch (const TimeoutError&) {
    }
  });
  try {
    (void)net::connect_authenticated(listener.address(), token, identity, "rank 0", kSoon());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// A rank connects and is let in.
bool honest_rank_gets_in(GuardedListener& listener) {
  auto connecting = std::async(std::launch::async, [&] {
    return net::connect_authenticated(listener.address(), kToken, kRank2, "rank 0", kSoon()).is_open();
  });
  const net::AcceptedPeer peer = listener.accept(kSoon());
  return connecting.get() && peer.identity.rank == 2 && peer.identity.tag == 77;
}

}  // namespace

TEST_CASE("a rank that knows the token is let in under its name", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  CHECK(honest_rank_gets_in(listener));
}

TEST_CASE("a wrong token, generation or port are each told apart", "[net]") {
  CHECK(answer_to(kToken, kRank2) == "accepted");
  CHECK_THAT(answer_to("fedcba9876543210", kRank2), ContainsSubstring("LOCKSTEP_TOKEN"));
  CHECK_THAT(answer_to(kToken, {Role::kCollective, 3, 2, 0}), ContainsSubstring("generation 4"));
  CHECK_THAT(answer_to(kToken, {Role::kStore, 4, 2, 0}), ContainsSubstring("wrong port"));
}

TEST_CASE("strangers of every kind do not keep an honest rank out", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  std::vector<StreamSocket> strangers;
  for (const char* opening : {"", "GET / HTTP/1.1\r\n\r\n", "LK", "LKSH", "\xFF\xFF\xFF\xFF\xFF\xFF"}) {
    strangers.push_back(StreamSocket::connect(listener.address(), kSoon()));
    strangers.back().send_all(as_bytes(opening), kSoon());
  }
  CHECK(honest_rank_gets_in(listener));
  CHECK(listener.refused_count() >= 2);  // those whose first bytes are wrong; the silent ones still have time
}

TEST_CASE("a thousand silent connections are bounded and do not keep an honest rank out", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  std::vector<StreamSocket> strangers;
  for (int i = 0; i < 400; ++i) strangers.push_back(StreamSocket::connect(listener.address(), kSoon()));
  CHECK(honest_rank_gets_in(listener));
  strangers.clear();
  for (int i = 0; i < 600; ++i) strangers.push_back(StreamSocket::connect(listener.address(), kSoon()));
  CHECK(honest_rank_gets_in(listener));
  std::vector<pollfd> entries;
  listener.append_poll_entries(entries);
  CHECK(entries.size() <= GuardedListener::kMaxStrangers + 1);  // and the listening descriptor
}

TEST_CASE("a timeout tells of the strangers that came instead", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  auto stranger = StreamSocket::connect(listener.address(), kSoon());
  stranger.send_all(as_bytes("GET / HTTP/1.1\r\n\r\n"), kSoon());
  CHECK_THROWS_WITH(listener.accept(Deadline::after(200ms)),
                    ContainsSubstring("refused 1 strangers") && ContainsSubstring("GET / HTTP/1.1"));
}

TEST_CASE("a client notices that another program listens, also a silent one", "[net]") {
  net::TcpListener other;
  const auto connect = [&](std::chrono::milliseconds limit) {
    (void)net::connect_authenticated(other.address(), kToken, kRank2, "rank 0", Deadline::after(limit));
  };
  CHECK_THROWS_WITH(connect(100ms), ContainsSubstring("another program"));
  (void)other.accept(kSoon());
  std::jthread web_server([&] {
    auto client = other.accept(kSoon());
    client.send_all(as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), kSoon());
    std::byte ignored[56];
    client.receive_exactly(ignored, kSoon());
  });
  CHECK_THROWS_WITH(connect(5000ms), ContainsSubstring("HTTP/1") && ContainsSubstring("is the port right?"));
}

TEST_CASE("a listener that only replays what it hears cannot prove the token", "[net]") {
  net::TcpListener fake;
  std::jthread replaying([&] {
    auto client = fake.accept(kSoon());
    std::array<std::byte, net::kHelloBytes> hello{};
    client.receive_exactly(hello, kSoon());
    net::ByteWriter challenge;
    challenge.put_bytes(std::span(hello).first(6)).put(std::uint16_t{0});
    challenge.put_bytes(std::span(hello).last(net::kNonceBytes)).put_bytes(std::vector<std::byte>(net::kProofBytes));
    client.send_all(challenge.bytes(), kSoon());
    std::array<std::byte, net::kProofBytes> proof{};
    client.receive_exactly(proof, kSoon());
  });
  CHECK_THROWS_WITH(net::connect_authenticated(fake.address(), kToken, kRank2, "rank 0", kSoon()),
                    ContainsSubstring("LOCKSTEP_TOKEN"));
}

TEST_CASE("the token of a loopback job lies in a file of this user alone; elsewhere it must be given", "[net]") {
  ::unsetenv("LOCKSTEP_TOKEN");
  const auto folder = std::filesystem::temp_directory_path() / ("lockstep_token_test_" + net::make_token());
  std::filesystem::create_directory(folder);
  ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  const std::string token = net::find_token({"127.0.0.1", 29500});
  CHECK(token.size() == 64);
  CHECK(net::find_token({"127.0.0.1", 29500}) == token);
  CHECK(net::find_token({"127.0.0.1", 29501}) != token);
  CHECK_THROWS_WITH(net::find_token({"10.0.0.1", 29500}), ContainsSubstring("openssl rand -hex 32"));

  std::filesystem::path file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "127.0.0.1-29500.token") file = entry.path();
  }
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  ::chmod(file.c_str(), 0644);
  CHECK_THROWS_WITH(net::find_token({"127.0.0.1", 29500}), ContainsSubstring("not this user's alone"));
  std::filesystem::remove_all(folder);
  ::unsetenv("XDG_RUNTIME_DIR");

  ::setenv("LOCKSTEP_TOKEN", "short", 1);
  CHECK_THROWS_AS(net::find_token({"10.0.0.1", 29500}), FormatError);
  ::setenv("LOCKSTEP_TOKEN", kToken.c_str(), 1);
  CHECK(net::find_token({"10.0.0.1", 29500}) == kToken);
  ::unsetenv("LOCKSTEP_TOKEN");
}
