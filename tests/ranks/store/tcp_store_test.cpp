#include "store/tcp_store.hpp"

#include <sys/socket.h>

#include <functional>
#include <thread>

#include "base/error.hpp"
#include "net/frame.hpp"
#include "net/guarded_listener.hpp"
#include "net/handshake.hpp"
#include "net/token.hpp"
#include "store/protocol.hpp"
#include "support/catch.hpp"
#include "support/flood.hpp"
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
  [[nodiscard]] net::StreamSocket connect(int rank) const {
    return net::connect_authenticated(server.address(), token, {net::Role::kStore, 0, rank, 0}, "store", soon());
  }
};

void send_request(net::StreamSocket& socket, const store::Request& request) {
  net::send_frame(socket, {.type = net::FrameType::kStoreRequest}, store::encode(request), soon());
}

store::Reply receive_reply(net::StreamSocket& socket) {
  return store::decode_reply(net::receive_frame(socket, {store::kMaxMessageBytes, 0}, soon()).payload);
}

}  // namespace

TEST_CASE("a client that sends nonsense after its handshake is cut off, and the others are not", "[store]") {
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

TEST_CASE("of a hundred clients that wait, those of a key are woken and the others time out", "[store]") {
  const RunningServer fixture;
  constexpr int kClients = 100, kKeys = 4;
  std::vector<std::string> got(kClients);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kClients; ++i) {
      threads.emplace_back([&, i] {
        const auto own = fixture.client(i);
        own->add("come", 1);
        try {
          got[static_cast<std::size_t>(i)] =
              own->get(concat("key ", i % kKeys), Deadline::after(i % kKeys == 3 ? 1s : 20s));
        } catch (const TimeoutError&) {
          got[static_cast<std::size_t>(i)] = "nothing";
        }
      });
    }
    const auto setter = fixture.client(kClients);
    for (const auto deadline = soon(); setter->add("come", 0) < kClients && !deadline.has_expired();) continue;
    for (int key = 0; key < 3; ++key) setter->set(concat("key ", key), concat("value ", key));
  }
  for (int i = 0; i < kClients; ++i) {
    CHECK(got[static_cast<std::size_t>(i)] == (i % kKeys == 3 ? "nothing" : concat("value ", i % kKeys)));
  }
}

TEST_CASE("a client that goes away while it waits leaves the others alone", "[store]") {
  const RunningServer fixture;
  const auto honest = fixture.client(0);
  {
    auto leaving = net::connect_authenticated(fixture.server.address(), fixture.token, {net::Role::kStore, 0, 1, 0},
                                              "store", soon());
    const store::Request get{store::Operation::kGet, "later", "10000", {}};
    net::send_frame(leaving, {.type = net::FrameType::kStoreRequest}, store::encode(get), soon());
    honest->set("before", "1");  // what was sent before it has been read by now, or is read with the end
  }
  honest->set("later", "2");
  CHECK(honest->get("later", soon()) == "2");
}

TEST_CASE("a value reaches those that wait for it though its setter has gone", "[store]") {
  const RunningServer fixture;
  net::StreamSocket waiting = fixture.connect(0);
  for (int i = 0; i < 20; ++i) {  // whether the setter's end comes before the answer to it is up to the kernel
    const std::string key = concat("key ", i);
    send_request(waiting, {store::Operation::kGet, key, "600000", {}});
    {
      net::StreamSocket setter = fixture.connect(1);
      const linger at_once{1, 0};  // closing resets the connection
      ::setsockopt(setter.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      send_request(setter, {store::Operation::kSet, key, "v", {}});
    }
    CHECK(receive_reply(waiting).value == "v");
  }
}

TEST_CASE("a get from a server that does not reply ends, and its late reply is not taken for another's", "[store]") {
  const std::string token = net::make_token();
  net::GuardedListener listener({}, token, {net::Role::kStore, 0, -1, 0});
  std::string first, second;
  const auto outcome_of = [](const std::function<std::string()>& call) {
    try {
      return call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  std::jthread client([&] {
    TcpStore store(listener.address(), token, 0, 1, soon());
    first = outcome_of([&] { return store.get("early", Deadline::after(10ms)); });
    second = outcome_of([&] { return store.try_get("late").value_or("nothing"); });
  });
  net::StreamSocket socket = listener.accept(soon()).socket;
  const auto receive = [&] { return net::receive_frame(socket, {store::kMaxMessageBytes, 0}, soon()).header; };
  const auto reply = [&](const net::FrameHeader& request, const std::string& text) {
    const net::FrameHeader header{.type = net::FrameType::kStoreReply, .sequence = request.sequence};
    net::send_frame(socket, header, store::encode(store::Reply{store::Status::kOk, text}), soon());
  };
  const net::FrameHeader early = receive();
  const net::FrameHeader late = receive();  // the client has given up
  reply(early, "of early");
  reply(late, "of late");
  client.join();
  CHECK_THAT(first, ContainsSubstring("no reply about early from store (127.0.0.1:"));
  CHECK(second == "of late");
}

TEST_CASE("a client that would wait forever waits, and is not answered at once", "[store]") {
  const RunningServer fixture;
  net::StreamSocket waiting = fixture.connect(0);
  send_request(waiting, {store::Operation::kGet, "key", "9223372036854775807", {}});
  const auto setter = fixture.client(1);
  setter->set("before", "1");  // by now the server has read the request
  setter->set("key", "v");
  const store::Reply reply = receive_reply(waiting);
  CHECK(reply.status == store::Status::kOk);
  CHECK(reply.value == "v");
}

TEST_CASE("a client that asks for much and reads nothing is cut off before the store has answered all", "[store]") {
  const RunningServer fixture;
  const auto honest = fixture.client(0);
  honest->set("big", std::string(store::kMaxValueBytes, 'x'));
  net::StreamSocket greedy = fixture.connect(1);
  std::vector<std::byte> requests;  // in one piece, so that the store finds all of them at once
  const auto append = [&requests](const store::Request& request) {
    const std::vector<std::byte> payload = store::encode(request);
    const net::EncodedHeader header = net::seal({.type = net::FrameType::kStoreRequest}, payload);
    requests.insert(requests.end(), header.begin(), header.end());
    requests.insert(requests.end(), payload.begin(), payload.end());
  };
  for (int i = 0; i < 100; ++i) append({store::Operation::kTryGet, "big", {}, {}});
  append({store::Operation::kSet, "after", "all answers", {}});
  greedy.send_all(requests, soon());
  honest->set("next", "1");  // by now the store has read them
  CHECK_FALSE(honest->try_get("after"));
}

TEST_CASE("a client that floods the store does not keep the others from it", "[store]") {
  const RunningServer fixture;
  const auto honest = fixture.client(0);
  net::StreamSocket flooding = fixture.connect(1);
  // Each request ends the wait of the one before, and none is answered.
  const auto request = store::encode(store::Request{store::Operation::kGet, "never set", "3600000", {}});
  test::Flood flood(flooding, {.type = net::FrameType::kStoreRequest}, request);
  honest->set("key", "value");
  CHECK(flood.end());
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
