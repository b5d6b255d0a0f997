#include "store/tcp_store.hpp"

#include "base/error.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "net/token.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"
#include "support/strangers.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using store::TcpStore;
using store::TcpStoreServer;
using test::soon;

namespace {

// A server with clients on demand.
struct RunningServer {
  std::string token = net::make_token();
  TcpStoreServer server{{}, token};
  [[nodiscard]] std::unique_ptr<TcpStore> client(int rank = 0) const {
    return std::make_unique<TcpStore>(server.address(), token, 0, rank, soon());
  }
};

}  // namespace

TEST_CASE("a client that sends nonsense after its handshake is cut off; the others are not", "[store]") {
  const RunningServer fixture;
  const auto honest = fixture.client();
  auto socket = net::connect_authenticated(fixture.server.address(), fixture.token, {net::Role::kStore, 0, 1, 0},
                                           "store", soon());
  const std::vector<std::byte> nonsense(100, std::byte{0x5A});
  net::send_frame(socket, {.type = net::FrameType::kStoreRequest}, nonsense, soon());
  std::byte answer[1];
  CHECK_THROWS_AS(socket.receive_exactly(answer, soon()), IoError);
  honest->set("k", "v");
  CHECK(honest->get("k", soon()) == "v");
}

TEST_CASE("clients of another job or generation are refused", "[store]") {
  const RunningServer fixture;
  CHECK_THROWS_AS(TcpStore(fixture.server.address(), net::make_token(), 0, 1, soon()), Error);
  CHECK_THROWS_WITH(TcpStore(fixture.server.address(), fixture.token, 1, 1, soon()), ContainsSubstring("generation 0"));
}

TEST_CASE("a store whose server is gone is an IoError at once", "[store]") {
  auto fixture = std::make_unique<RunningServer>();
  const auto client = fixture->client();
  fixture.reset();
  CHECK_THROWS_AS(client->set("k", "v"), IoError);
}

TEST_CASE("strangers of every kind leave a running store and its clients alone", "[store]") {
  const RunningServer fixture;
  const auto honest = fixture.client(0);
  honest->set("before", "1");
  const auto strangers = test::send_strangers(fixture.server.address(), 5);
  honest->set("during", "2");
  const auto late = fixture.client(1);  // comes while they sit there
  CHECK(late->get("before", soon()) == "1");
  CHECK(late->get("during", soon()) == "2");
}

TEST_CASE("a thousand connections do not keep the ranks from a running store", "[store]") {
  const RunningServer fixture;
  const auto honest = fixture.client(0);
  std::vector<net::StreamSocket> crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.push_back(net::StreamSocket::connect(fixture.server.address(), soon()));
    if (i % 100 == 0) honest->set("count", concat(i));
    if (crowd.size() > 300) crowd.erase(crowd.begin(), crowd.begin() + 200);  // this process has descriptors to mind
  }
  const auto late = fixture.client(1);
  CHECK(late->get("count", soon()) == "900");
}
