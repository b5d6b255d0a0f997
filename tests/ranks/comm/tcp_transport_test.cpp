#include "comm/host/tcp_transport.hpp"

#include <cstdlib>
#include <thread>

#include "comm/transport_checks.hpp"
#include "net/bytes.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"
#include "support/stay_away.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::JobContext;
using comm::TcpTransport;
using test::exchange_all;
using test::header_of;
using test::run_ranks;
using test::run_ranks_for;
using test::soon;
using test::stay_away;

namespace {

// Where rank 0 of the group "test" listens.
net::SocketAddress address_of_rank_zero(const JobContext& context) {
  return net::SocketAddress::parse(context.store->get("generation/0/test/address/0", soon()));
}

}  // namespace

TEST_CASE("messages over TCP arrive whole and in order, all ranks sending at once", "[comm][multirank]") {
  for (const int world_size : {2, 3, 5, 8}) {
    const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) {
      TcpTransport transport(context, "test", {}, soon());  // every connection is made when it is first needed
      return exchange_all(transport, context.rank, world_size);
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

TEST_CASE("TCP counts what it sends", "[comm][multirank]") {
  const auto counts = run_ranks_for<comm::Traffic>(2, [](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    const std::vector<std::byte> bytes(1000);
    transport.send(1 - context.rank, header_of(0), bytes, soon());
    transport.send(1 - context.rank, header_of(1), {}, soon());
    std::vector<std::byte> received(1000);
    transport.receive(1 - context.rank, header_of(0), received, soon());
    transport.receive(1 - context.rank, header_of(1), {}, soon());
    transport.flush(soon());
    return transport.sent();
  });
  for (const comm::Traffic& sent : counts) {
    CHECK(sent.payload_bytes == 1000);
    CHECK(sent.messages == 2);
    CHECK(sent.header_bytes == 128);
  }
}

TEST_CASE("a message of another collective is refused with both names", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    transport.send(1 - context.rank, header_of(static_cast<std::uint64_t>(context.rank)), {}, soon());
    transport.receive(1 - context.rank, header_of(static_cast<std::uint64_t>(context.rank)), {}, soon());
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 0 barrier #0") || ContainsSubstring("rank 0 all_reduce #0"));
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 1"));
  }
}

TEST_CASE("a message of another size than its collective says is refused", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    const std::vector<std::byte> bytes(100);
    std::vector<std::byte> room(context.rank == 0 ? 99 : 100);
    transport.send(1 - context.rank, header_of(0), bytes, soon());
    transport.receive(1 - context.rank, header_of(0), room, soon());
  });
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("sent 100 bytes, but 99 were expected"));
  CHECK(outcomes[1].ok());
}

TEST_CASE("the first use of a pair waits as long as the call may, not as long as joining", "[comm][multirank]") {
  const int late = GENERATE(0, 1);  // the rank that connects, and the one that answers
  const auto outcomes = run_ranks(2, [&](JobContext context) {
    context.limits.join = 50ms;  // all have joined already
    TcpTransport transport(context, "test", {}, soon());
    if (context.rank == late) std::this_thread::sleep_for(700ms);
    transport.send(1 - context.rank, header_of(0), {}, soon());
    transport.receive(1 - context.rank, header_of(0), {}, soon());
    transport.flush(soon());
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
}

TEST_CASE("the first use of a pair ends at the call's deadline, and names the pair", "[comm][multirank]") {
  const int late = GENERATE(0, 1);
  const auto outcomes = run_ranks(2, [&](const JobContext& context) {
    TcpTransport transport(context, "test", {}, soon());
    std::vector<std::byte> room(8);
    if (context.rank != late) transport.receive(late, header_of(0), room, Deadline::after(300ms));
    stay_away(context);
  });
  const auto& waiting = outcomes[static_cast<std::size_t>(1 - late)];
  CHECK(waiting.is<TimeoutError>());
  CHECK_THAT(waiting.message(), ContainsSubstring("rank 0") && ContainsSubstring("rank 1"));
}

TEST_CASE("a silent peer is named with the amounts at the deadline", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    std::vector<std::byte> room(1000);
    if (context.rank == 0) transport.receive(1, header_of(0), room, Deadline::after(100ms));
    stay_away(context);  // connected, and saying nothing
  });
  CHECK(outcomes[0].is<TimeoutError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("rank 1") && ContainsSubstring("0 of 1064 bytes received"));
}

TEST_CASE("a peer that falls silent is told from one that has said nothing", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    if (context.rank == 0) {
      const auto deadline = Deadline::after(300ms);
      std::this_thread::sleep_for(200ms);  // as if earlier messages of the call came slowly
      std::vector<std::byte> room(1000);
      transport.receive(1, header_of(0), room, deadline);
    }
    stay_away(context);
  });
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("no data from rank 1") && ContainsSubstring("for the last 0."));
}

TEST_CASE("a deadline over TCP counts the whole message, of which some has arrived", "[comm][multirank]") {
  const std::vector<std::byte> bytes(32 << 20);  // more than the kernel's buffers hold
  const auto outcomes = run_ranks(2, [&](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    if (context.rank == 0) {
      transport.send(1, header_of(0), bytes, soon());
      context.store->set("sent", "");
      return stay_away(context);
    }
    (void)context.store->get("sent", soon());
    std::vector<std::byte> room(bytes.size());
    transport.receive(0, header_of(0), room, Deadline::after(0s));
  });
  CHECK(outcomes[1].is<TimeoutError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("the data from rank 0") &&
                                        ContainsSubstring("did not all arrive within") &&
                                        ContainsSubstring("of 33554496 bytes received"));
}

TEST_CASE("interrupt ends a waiting receive and every later call", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    TcpTransport transport(context, "test", {1 - context.rank}, soon());
    std::jthread interrupter;
    if (context.rank == 0) {
      interrupter = std::jthread([&] {
        std::this_thread::sleep_for(50ms);
        transport.interrupt();
      });
    }
    std::vector<std::byte> room(8);
    transport.receive(1 - context.rank, header_of(0), room, soon());
  });
  CHECK(outcomes[0].is<IoError>());
  CHECK(outcomes[1].is<IoError>());  // its peer's end is closed
}

TEST_CASE("strangers at a group's port change nothing, whatever they send and however many they are",
          "[comm][multirank]") {
  const auto problems = run_ranks_for<std::string>(3, [](const JobContext& context) -> std::string {
    TcpTransport transport(context, "test", {}, soon());
    std::vector<net::StreamSocket> strangers;
    if (context.rank == 2) {  // it connects to nobody by itself: rank 0 listens, and nobody has come yet
      const net::SocketAddress target = address_of_rank_zero(context);
      for (const std::string& text : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(64, '\xFF'),
                                      std::string("LK"), std::string(), std::string(100000, 'x')}) {
        strangers.push_back(net::StreamSocket::connect(target, soon()));
        (void)strangers.back().send_some(net::as_bytes(text));
      }
      // A header that announces more than anybody has memory for.
      net::FrameHeader huge = header_of(0);
      const std::vector<std::byte> nothing;
      huge.payload_bytes = ~std::uint64_t{0};
      strangers.push_back(net::StreamSocket::connect(target, soon()));
      (void)strangers.back().send_some(net::seal(huge, nothing));
      for (int i = 0; i < 1000; ++i) {
        net::StreamSocket one = net::StreamSocket::connect(target, soon());
        if (i % 10 == 0) strangers.push_back(std::move(one));  // some stay
      }
    }
    return exchange_all(transport, context.rank, 3);
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("a rank of another group is refused, and the right one still comes", "[comm][multirank]") {
  const auto problems = run_ranks_for<std::string>(2, [](const JobContext& context) -> std::string {
    TcpTransport transport(context, "test", {}, soon());
    if (context.rank == 0) {
      const auto address = net::SocketAddress::parse(context.store->get("generation/0/test/address/1", soon()));
      const net::Identity identity{net::Role::kCollective, 0, 0, net::checksum(net::as_bytes("another"))};
      // Rank 1 is in its exchange and waits there for rank 0, so that it answers.
      const net::StreamSocket wrong = net::connect_authenticated(address, context.token, identity, "rank 1", soon());
      return exchange_all(transport, 0, 2);
    }
    return exchange_all(transport, 1, 2);
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("a rank that connects again, after data was sent to it, is an error at once", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    TcpTransport transport(context, "test", {}, soon());
    std::vector<std::byte> room(8);
    if (context.rank == 1) {
      transport.send(0, header_of(0), {}, soon());
      try {
        transport.receive(0, header_of(0), room, soon());
      } catch (...) {
        context.store->set("done", "");
        throw;
      }
    } else if (context.rank == 0) {
      const auto address = net::SocketAddress::parse(context.store->get("generation/0/test/address/1", soon()));
      const net::Identity identity{net::Role::kCollective, 0, 0, net::checksum(net::as_bytes("test"))};
      const auto connect = [&] {
        return net::connect_authenticated(address, context.token, identity, "rank 1", soon());
      };
      net::StreamSocket first = connect();
      net::EncodedHeader message;
      first.receive_exactly(message, soon());
      const net::StreamSocket second = connect();
      (void)context.store->get("done", soon());
    }  // rank 2 connects to nobody, so that rank 1 still listens
  });
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("the connection between rank 1 and rank 0 broke") &&
                                        ContainsSubstring("connected again"));
}

namespace {

constexpr std::size_t kPayloadBytes = 1000;

void forward(net::StreamSocket& from, net::StreamSocket& to, std::size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  from.receive_exactly(buffer, soon());
  to.send_all(buffer, soon());
}

// Somebody on the way between rank 0 and rank 1: lets the handshake pass, and changes the first message. Somebody
// who can do that can make checksums, too.
void change_first_message(net::TcpListener& listener, const net::SocketAddress& rank_1) {
  net::StreamSocket client = listener.accept(soon());
  net::StreamSocket server = net::StreamSocket::connect(rank_1, soon());
  forward(client, server, net::kHelloBytes);
  forward(server, client, net::kChallengeBytes);
  forward(client, server, net::kProofBytes);
  forward(server, client, net::kVerdictBytes);
  net::EncodedHeader header;
  std::vector<std::byte> payload(kPayloadBytes);
  client.receive_exactly(header, soon());
  client.receive_exactly(payload, soon());
  payload[10] ^= std::byte{1};
  const net::FrameMac any({}, {});  // keeps open_header() from looking at a checksum that may be none
  server.send_all(net::seal(net::open_header(header, {1 << 20, 0}, "rank 0", &any), payload), payload, soon());
}

// Rank 1's answer to a message that was changed on its way: an error, or "accepted".
std::string answer_to_changed_message(const char* frame_mac) {
  ::setenv("LOCKSTEP_FRAME_MAC", frame_mac, 1);
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    const std::vector<std::byte> bytes(kPayloadBytes);
    const std::string key = "generation/0/test/address/1";
    if (context.rank == 0) {
      (void)context.store->get("somebody is on the way", soon());
      TcpTransport transport(context, "test", {}, soon());
      transport.send(1, header_of(0), bytes, soon());
      transport.flush(soon());
      (void)context.store->get("done", soon());
      return;
    }
    TcpTransport transport(context, "test", {}, soon());
    net::TcpListener listener;
    std::jthread somebody([&, rank_1 = net::SocketAddress::parse(context.store->get(key, soon()))] {
      change_first_message(listener, rank_1);
    });
    context.store->set(key, listener.address().text());
    context.store->set("somebody is on the way", "");
    std::vector<std::byte> received(kPayloadBytes);
    try {
      transport.receive(0, header_of(0), received, soon());
    } catch (...) {
      context.store->set("done", "");
      throw;
    }
    context.store->set("done", "");
    if (received == bytes) throw Error("nothing was changed");
  });
  ::unsetenv("LOCKSTEP_FRAME_MAC");
  return outcomes[1].ok() ? "accepted" : outcomes[1].message();
}

}  // namespace

TEST_CASE("with a MAC the data of a collective cannot be changed on the way, and a checksum does not help",
          "[comm][multirank]") {
  CHECK(answer_to_changed_message("0") == "accepted");
  CHECK_THAT(answer_to_changed_message("1"), ContainsSubstring("rank 0") && ContainsSubstring("changed, repeated"));
}

TEST_CASE("messages with a MAC arrive whole and in order, all ranks sending at once", "[comm][multirank]") {
  ::setenv("LOCKSTEP_FRAME_MAC", "1", 1);
  for (const int world_size : {2, 3, 5}) {
    const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) {
      TcpTransport transport(context, "test", {}, soon());
      return exchange_all(transport, context.rank, world_size);
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
  ::unsetenv("LOCKSTEP_FRAME_MAC");
}
