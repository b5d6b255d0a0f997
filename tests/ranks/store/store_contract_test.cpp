// The contract of every store, in one body for all of them.
#include <atomic>
#include <future>
#include <thread>

#include "base/error.hpp"
#include "net/token.hpp"
#include "store/file_store.hpp"
#include "store/prefix_store.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::soon;

namespace {

enum class Kind { kTcp, kFile, kPrefixOfTcp, kPrefixOfFile };

// A store of a kind, with clients on demand.
struct StoreFixture {
  explicit StoreFixture(Kind wanted) : kind(wanted) {}

  [[nodiscard]] std::unique_ptr<store::Store> client(int rank = 0) const {
    const bool is_tcp = kind == Kind::kTcp || kind == Kind::kPrefixOfTcp;
    std::unique_ptr<store::Store> plain;
    if (is_tcp)
      plain = std::make_unique<store::TcpStore>(server.address(), token, 0, rank, soon());
    else
      plain = std::make_unique<store::FileStore>(folder / "store", soon());
    if (kind == Kind::kTcp || kind == Kind::kFile) return plain;
    return std::make_unique<store::PrefixStore>("part", std::shared_ptr<store::Store>(std::move(plain)));
  }

  Kind kind;
  std::string token = net::make_token();
  store::TcpStoreServer server{{}, token};
  test::TemporaryFolder folder;
};

// The body of a test case runs once per kind.
Kind each_kind() { return GENERATE(Kind::kTcp, Kind::kFile, Kind::kPrefixOfTcp, Kind::kPrefixOfFile); }

}  // namespace

TEST_CASE("what one client sets another gets", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto a = fixture.client(0), b = fixture.client(1);
  a->set("key", "value");
  CHECK(b->get("key", soon()) == "value");
  a->set("key", "");
  CHECK(b->get("key", soon()).empty());
  CHECK(a->erase("key"));
  CHECK_FALSE(b->erase("key"));
  CHECK_FALSE(b->try_get("key").has_value());
  const std::string large(store::kMaxValueBytes, 'x');
  a->set("large", large);
  CHECK(b->get("large", soon()) == large);
}

TEST_CASE("get waits for a key that is set later, while others are served", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto a = fixture.client(0), b = fixture.client(1);
  auto waiting = std::async(std::launch::async, [&] { return b->get("late", soon()); });
  a->set("other", "1");
  CHECK(waiting.wait_for(20ms) == std::future_status::timeout);
  a->set("late", "here");
  CHECK(waiting.get() == "here");
}

TEST_CASE("get gives up at the deadline, names the key, and the client stays usable", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto client = fixture.client();
  CHECK_THROWS_WITH(client->get("never", Deadline::after(30ms)),
                    ContainsSubstring("nobody set ") && ContainsSubstring("never within"));
  client->set("never", "now");
  CHECK(client->get("never", soon()) == "now");
}

TEST_CASE("wait names exactly the keys that are missing", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto client = fixture.client();
  client->set("a", "1");
  const std::vector<std::string> keys{"a", "b", "c"};
  CHECK_THROWS_WITH(client->wait(keys, Deadline::after(30ms)), ContainsSubstring("nobody set b, c within"));
}

TEST_CASE("add counts every call of every client once", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto client = fixture.client();
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        const auto own = fixture.client(rank);
        for (int i = 0; i < 50; ++i) own->add("sum", rank);
      });
    }
  }
  CHECK(client->add("sum", -1) == 50 * (0 + 1 + 2 + 3) - 1);
  client->set("text", "abc");
  CHECK_THROWS_AS(client->add("text", 1), FormatError);
}

TEST_CASE("compare_set changes only the value it expects", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto client = fixture.client();
  CHECK(client->compare_set("k", "old", "new").empty());
  CHECK_FALSE(client->try_get("k").has_value());
  CHECK(client->compare_set("k", "", "first") == "first");
  CHECK(client->compare_set("k", "", "second") == "first");
  CHECK(client->compare_set("k", "first", "second") == "second");
}

TEST_CASE("keys and values beyond the limits are the caller's error", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto client = fixture.client();
  CHECK_THROWS_AS(client->set(std::string(store::kMaxKeyBytes + 1, 'k'), ""), ContractError);
  CHECK_THROWS_AS(client->set("k", std::string(store::kMaxValueBytes + 1, 'v')), ContractError);
  CHECK_THROWS_AS(client->set("", "v"), ContractError);
  client->set("k", "still usable");
}

TEST_CASE("two who compare and set the same key agree on who was first", "[store]") {
  const StoreFixture fixture(each_kind());
  const auto keeper = fixture.client();
  std::atomic<int> disagreements = 0, winners = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        const auto client = fixture.client(rank);
        for (int i = 0; i < 25; ++i) {
          const std::string key = concat("key ", i), own = concat("rank ", rank);
          const std::string winner = client->compare_set(key, "", own);
          winners += winner == own;
          disagreements += client->get(key, soon()) != winner;
        }
      });
    }
  }
  CHECK(disagreements == 0);
  CHECK(winners == 25);
}

TEST_CASE("parts of a store do not meet", "[store]") {
  const StoreFixture fixture(Kind::kTcp);
  const std::shared_ptr<store::Store> whole = fixture.client();
  store::PrefixStore a("a", whole), b("b", whole);
  a.set("key", "1");
  CHECK_FALSE(b.try_get("key").has_value());
  CHECK(whole->get("a/key", soon()) == "1");
  CHECK_THROWS_AS(store::PrefixStore("", whole), ContractError);
}
