#include "store/tcp_store.hpp"

#include <future>
#include <thread>

#include "base/error.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "net/token.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using store::TcpStore;
using store::TcpStoreServer;

namespace {

const auto kSoon = [] { return Deadline::after(10s); };

// A server with clients on demand.
struct StoreFixture {
  std::string token = net::make_token();
  TcpStoreServer server{{}, token};
  [[nodiscard]] std::unique_ptr<TcpStore> client(int rank = 0) const {
    return std::make_unique<TcpStore>(server.address(), token, 0, rank, kSoon());
  }
};

}  // namespace

TEST_CASE("what one client sets another gets", "[store]") {
  const StoreFixture fixture;
  const auto a = fixture.client(0), b = fixture.client(1);
  a->set("key", "value");
  CHECK(b->get("key", kSoon()) == "value");
  a->set("key", "");
  CHECK(b->get("key", kSoon()).empty());
  CHECK(a->erase("key"));
  CHECK_FALSE(b->erase("key"));
  CHECK_FALSE(b->try_get("key").has_value());
  const std::string large(store::kMaxValueBytes, 'x');
  a->set("large", large);
  CHECK(b->get("large", kSoon()) == large);
}

TEST_CASE("get waits for a key that is set later, while others are served", "[store]") {
  const StoreFixture fixture;
  const auto a = fixture.client(0), b = fixture.client(1);
  auto waiting = std::async(std::launch::async, [&] { return b->get("late", kSoon()); });
  a->set("other", "1");
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  a->set("late", "here");
  CHECK(waiting.get() == "here");
}

TEST_CASE("get gives up at the deadline, names the key, and the client stays usable", "[store]") {
  const StoreFixture fixture;
  const auto client = fixture.client();
  CHECK_THROWS_WITH(client->get("never", Deadline::after(30ms)), ContainsSubstring("nobody set never"));
  client->set("never", "now");
  CHECK(client->get("never", kSoon()) == "now");
}

TEST_CASE("wait names exactly the keys that are missing", "[store]") {
  const StoreFixture fixture;
  const auto client = fixture.client();
  client->set("a", "1");
  const std::vector<std::string> keys{"a", "b", "c"};
  CHECK_THROWS_WITH(client->wait(keys, Deadline::after(30ms)), ContainsSubstring("nobody set b, c within"));
}

TEST_CASE("add counts every call of every client once", "[store]") {
  const StoreFixture fixture;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        const auto client = fixture.client(rank);
        for (int i = 0; i < 50; ++i) client->add("sum", rank);
      });
    }
  }
  const auto client = fixture.client();
  CHECK(client->add("sum", -1) == 50 * (0 + 1 + 2 + 3) - 1);
  client->set("text", "abc");
  CHECK_THROWS_AS(client->add("text", 1), FormatError);
}

TEST_CASE("compare_set changes only the value it expects", "[store]") {
  const StoreFixture fixture;
  const auto client = fixture.client();
  CHECK(client->compare_set("k", "old", "new").empty());
  CHECK_FALSE(client->try_get("k").has_value());
  CHECK(client->compare_set("k", "", "first") == "first");
  CHECK(client->compare_set("k", "", "second") == "first");
  CHECK(client->compare_set("k", "first", "second") == "second");
}

TEST_CASE("keys and values beyond the limits are the caller's error", "[store]") {
  const StoreFixture fixture;
  const auto client = fixture.client();
  CHECK_THROWS_AS(client->set(std::string(store::kMaxKeyBytes + 1, 'k'), ""), ContractError);
  CHECK_THROWS_AS(client->set("k", std::string(store::kMaxValueBytes + 1, 'v')), ContractError);
  CHECK_THROWS_AS(client->set("", "v"), ContractError);
  client->set("k", "still usable");
}

TEST_CASE("a client that sends nonsense after its handshake is cut off; the others are not", "[store]") {
  const StoreFixture fixture;
  const auto honest = fixture.client();
  auto socket = net::connect_authenticated(fixture.server.address(), fixture.token, {net::Role::kStore, 0, 1, 0},
                                           "store", kSoon());
  const std::vector<std::byte> nonsense(100, std::byte{0x5A});
  net::send_frame(socket, {.type = net::FrameType::kStoreRequest}, nonsense, kSoon());
  std::byte answer[1];
  CHECK_THROWS_AS(socket.receive_exactly(answer, kSoon()), IoError);
  honest->set("k", "v");
  CHECK(honest->get("k", kSoon()) == "v");
}

TEST_CASE("clients of another job or generation are refused", "[store]") {
  const StoreFixture fixture;
  CHECK_THROWS_AS(TcpStore(fixture.server.address(), net::make_token(), 0, 1, kSoon()), Error);
  CHECK_THROWS_WITH(TcpStore(fixture.server.address(), fixture.token, 1, 1, kSoon()),
                    ContainsSubstring("generation 0"));
}

TEST_CASE("a store whose server is gone is an IoError at once", "[store]") {
  auto fixture = std::make_unique<StoreFixture>();
  const auto client = fixture->client();
  fixture.reset();
  CHECK_THROWS_AS(client->set("k", "v"), IoError);
}
