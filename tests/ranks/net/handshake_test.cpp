#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/guarded_listener.hpp"
#include "net/handshake_wire.hpp"
#include "net/rank_and_listener.hpp"
#include "net/token.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::as_bytes;
using net::GuardedListener;
using net::StreamSocket;
using test::accept_one;
using test::connect_rank_2;
using test::kExpected;
using test::kRank2;
using test::kToken;
using test::soon;

namespace {

// A stranger that says hello and proves something; returns all that the listener says.
std::vector<std::byte> answers_to_stranger(GuardedListener& listener, const net::Nonce& nonce) {
  const auto accepting = accept_one(listener);
  StreamSocket socket = StreamSocket::connect(listener.address(), soon());
  socket.send_all(net::encode_hello({.client = kRank2, .client_nonce = nonce}), soon());
  std::vector<std::byte> answers(net::kChallengeBytes + net::kVerdictBytes);
  socket.receive_exactly(std::span(answers).first(net::kChallengeBytes), soon());
  socket.send_all(net::Proof{}, soon());
  socket.receive_exactly(std::span(answers).subspan(net::kChallengeBytes), soon());
  return answers;
}

}  // namespace

TEST_CASE("a stranger gets nothing that depends on the token", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  GuardedListener other({}, std::string(64, 'f'), kExpected);
  std::vector<std::byte> ours = answers_to_stranger(listener, net::Nonce{});
  std::vector<std::byte> theirs = answers_to_stranger(other, net::Nonce{});
  for (std::vector<std::byte>* answers : {&ours, &theirs}) {  // but for the listener's random number
    std::ranges::fill(std::span(*answers).first(net::kChallengeBytes).last(net::kNonceBytes), std::byte{0});
  }
  CHECK(ours == theirs);
}

TEST_CASE("a listener that only replays what it hears cannot prove the token", "[net]") {
  net::TcpListener fake;
  std::jthread replaying([&] {
    auto client = fake.accept(soon());
    std::array<std::byte, net::kHelloBytes> hello{};
    client.receive_exactly(hello, soon());
    net::ByteWriter challenge;
    challenge.put_bytes(std::span(hello).first(net::kVersionBytes)).put(std::uint16_t{0});
    challenge.put_bytes(std::span(hello).last(net::kNonceBytes));
    client.send_all(challenge.bytes(), soon());
    std::array<std::byte, net::kProofBytes> proof{};
    client.receive_exactly(proof, soon());
    net::ByteWriter verdict;
    verdict.put_bytes(std::span(hello).first(net::kVersionBytes)).put(std::uint16_t{0}).put(kRank2.generation);
    client.send_all(verdict.put_bytes(proof).bytes(), soon());
  });
  CHECK_THROWS_WITH(net::connect_authenticated(fake.address(), kToken, kRank2, "rank 0", soon()),
                    ContainsSubstring("did not prove") && ContainsSubstring("LOCKSTEP_TOKEN"));
}

TEST_CASE("a rank of another version is told so, and so is the listener's side", "[net]") {
  GuardedListener listener({}, kToken, kExpected);
  StreamSocket old = StreamSocket::connect(listener.address(), soon());
  net::ByteWriter hello;  // as version 1 wrote it
  hello.put(net::kHandshakeMagic).put(std::uint16_t{1}).put(std::uint16_t{3}).put_bytes(std::vector<std::byte>(48));
  old.send_all(hello.bytes(), soon());
  test::await_refusal(listener);
  CHECK_THROWS_WITH(listener.accept(Deadline::after(20ms)),
                    ContainsSubstring("speaks version 1 of the handshake, this program 2"));
  std::array<std::byte, net::kVersionBytes> answer{};  // what version 1 looks at before anything else
  old.receive_exactly(answer, soon());
  CHECK(net::ByteReader(std::span<const std::byte>(answer).last(2)).get<std::uint16_t>() == 2);
}

namespace {

// LOCKSTEP_FRAME_MAC for as long as this lives; a test's only way to play the end on another host.
struct FrameMacVariable {
  explicit FrameMacVariable(const char* value) { ::setenv("LOCKSTEP_FRAME_MAC", value, 1); }
  ~FrameMacVariable() { ::unsetenv("LOCKSTEP_FRAME_MAC"); }
};

net::FrameProtection agreed_with(net::FrameProtection wanted, const char* listeners_variable) {
  GuardedListener listener({}, kToken, kExpected);
  StreamSocket socket = StreamSocket::connect(listener.address(), soon());
  socket.send_all(net::encode_hello({.client = kRank2, .wanted = wanted}), soon());
  const FrameMacVariable variable(listeners_variable);
  for (const Deadline limit = soon(); !socket.wait_readable(Deadline::after(1ms)) && !limit.has_expired();)
    CHECK(listener.advance().empty());
  std::array<std::byte, net::kChallengeBytes> challenge{};
  socket.receive_exactly(challenge, soon());
  return static_cast<net::FrameProtection>(challenge[net::kVersionBytes]);
}

}  // namespace

TEST_CASE("of both ends' wishes for the protection of frames the stronger one counts", "[net]") {
  using enum net::FrameProtection;
  CHECK(agreed_with(kChecksum, "") == kChecksum);  // both ends are on this host
  CHECK(agreed_with(kMac, "") == kMac);
  CHECK(agreed_with(kMac, "0") == kMac);
  CHECK(agreed_with(kChecksum, "1") == kMac);
}

TEST_CASE("a listener that talks a client out of the MAC is not believed", "[net]") {
  const FrameMacVariable variable("1");
  net::TcpListener fake;
  std::jthread lying([&] {
    auto client = fake.accept(soon());
    std::array<std::byte, net::kHelloBytes> hello{};
    client.receive_exactly(hello, soon());
    net::ByteWriter challenge;
    challenge.put_bytes(std::span(hello).first(net::kVersionBytes)).put(std::uint16_t{0}).put_bytes(net::Nonce{});
    client.send_all(challenge.bytes(), soon());
  });
  CHECK_THROWS_WITH(net::connect_authenticated(fake.address(), kToken, kRank2, "rank 0", soon()),
                    ContainsSubstring("another protection of frames"));
}

TEST_CASE("frames with a MAC go both ways, and one that is changed on the way is refused", "[net]") {
  const FrameMacVariable variable("1");
  GuardedListener listener({}, kToken, kExpected);
  auto connecting = connect_rank_2(listener.address());
  StreamSocket right = listener.accept(soon()).socket;
  StreamSocket left = connecting.get();
  const net::FrameLimits limits{100, 4};
  for (const std::string_view text : {"there", "", "and again"}) {
    net::send_frame(left, {.generation = 4}, as_bytes(text), soon());
    CHECK(net::to_text(net::receive_frame(right, limits, soon()).payload) == text);
    net::send_frame(right, {.generation = 4}, as_bytes(text), soon());
    CHECK(net::to_text(net::receive_frame(left, limits, soon()).payload) == text);
  }
  const auto header = net::seal({.generation = 4}, as_bytes("payload"), left.frame_mac());
  left.send_all(header, as_bytes("pay1oad"), soon());
  CHECK_THROWS_WITH(net::receive_frame(right, limits, soon()), ContainsSubstring("changed, repeated or forged"));
  // Somebody on the way who can insert bytes knows how to make a checksum.
  const auto forged = net::seal({.generation = 4}, as_bytes("payload"));
  left.send_all(forged, as_bytes("payload"), soon());
  CHECK_THROWS_WITH(net::receive_frame(right, limits, soon()), ContainsSubstring("changed, repeated or forged"));
}

TEST_CASE("the token of a loopback job lies in a file of this user alone, and elsewhere it must be given", "[net]") {
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
  CHECK_THROWS_AS(net::find_token({"127.0.0.1", 29500}), FormatError);  // even if a file would do
  ::setenv("LOCKSTEP_TOKEN", kToken.c_str(), 1);
  CHECK(net::find_token({"10.0.0.1", 29500}) == kToken);
  ::unsetenv("LOCKSTEP_TOKEN");
}

TEST_CASE("what somebody could guess is no token", "[net]") {
  const auto refusal = [](const std::string& token) -> std::string {
    try {
      (void)net::check_token(token, "LOCKSTEP_TOKEN");
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(net::make_token()) == "");
  CHECK(refusal("0f1e2d3c4b5a69788796a5b4c3d2e1f0") == "");  // openssl rand -hex 16
  for (const std::string token :
       {"0123456789abcdef", "correct horse battery staple and more", "lockstep-job-token-of-2026!",
        "0f1e2d3c4b5a69788796a5b4c3d2e1f", "00000000000000000000000000000000"}) {
    CHECK_THAT(refusal(token), ContainsSubstring("openssl rand -hex 32") && ContainsSubstring("LOCKSTEP_TOKEN"));
    CHECK_THAT(refusal(token), !ContainsSubstring(token));
  }
  CHECK(refusal(std::string(64, 'a')) != "");
  CHECK(refusal(net::make_token() + net::make_token() + "0") != "");
}

TEST_CASE("LOCKSTEP_TOKEN_FILE names a file of this user alone", "[net]") {
  ::unsetenv("LOCKSTEP_TOKEN");
  const auto file = std::filesystem::temp_directory_path() / ("lockstep_token_test_" + net::make_token());
  ::setenv("LOCKSTEP_TOKEN_FILE", file.c_str(), 1);
  const net::SocketAddress elsewhere{"10.0.0.1", 29500};
  CHECK_THROWS_WITH(net::find_token(elsewhere), ContainsSubstring(file.string()) && ContainsSubstring("No such file"));

  const auto write = [&](const std::string& content) {
    std::ofstream(file) << content;
    ::chmod(file.c_str(), 0600);
  };
  write(kToken + "\n");
  CHECK(net::find_token(elsewhere) == kToken);
  CHECK(net::given_token() == kToken);
  ::chmod(file.c_str(), 0640);
  CHECK_THROWS_WITH(net::find_token(elsewhere),
                    ContainsSubstring("mode 0640") && ContainsSubstring("chmod 600 " + file.string()));
  write("a weak secret\n");
  CHECK_THROWS_WITH(net::find_token(elsewhere), ContainsSubstring(file.string()) && !ContainsSubstring("weak"));
  write(kToken);
  const auto link = std::filesystem::path(file.string() + ".link");  // as secrets are mounted in containers
  std::filesystem::create_symlink(file, link);
  ::setenv("LOCKSTEP_TOKEN_FILE", link.c_str(), 1);
  CHECK(net::find_token(elsewhere) == kToken);
  if (::geteuid() == 0 && ::chown(file.c_str(), 12345, -1) == 0) {
    CHECK_THROWS_WITH(net::find_token(elsewhere), ContainsSubstring("owner 12345"));
  }
  std::filesystem::remove(link);
  std::filesystem::remove(file);
  ::setenv("LOCKSTEP_TOKEN_FILE", std::filesystem::temp_directory_path().c_str(), 1);
  CHECK_THROWS_WITH(net::find_token(elsewhere), ContainsSubstring("not a regular file"));
  ::setenv("LOCKSTEP_TOKEN", kToken.c_str(), 1);
  CHECK(net::find_token(elsewhere) == kToken);  // it counts before the file
  ::unsetenv("LOCKSTEP_TOKEN");
  ::unsetenv("LOCKSTEP_TOKEN_FILE");
}
