// Names with several addresses, names that are not known yet, and addresses where nobody answers.
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "net/backoff.hpp"
#include "net/resolve.hpp"
#include "net/stream_socket.hpp"
#include "net/tcp_listener.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::StreamSocket;
using net::TcpListener;

namespace {

using net::AddressList;

// Address lists as getaddrinfo() makes them, of numbers.
addrinfo* list_of(const char* host, const char* port, const addrinfo* hints) {
  addrinfo* found = nullptr;
  addrinfo numeric = *hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  return ::getaddrinfo(host, port, &numeric, &found) == 0 ? found : nullptr;
}

// A name server that does not answer before it may; after 20 s a test that waits for it goes on, and fails.
std::atomic<bool> may_answer = false, has_answered = false;
std::atomic<int> times_asked = 0;

int slow_lookup(const char* host, const char* port, const addrinfo* hints, addrinfo** found) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return ::getaddrinfo(host, port, hints, found);
  ++times_asked;
  for (const auto limit = Deadline::after(20s); !may_answer && !limit.has_expired();) std::this_thread::sleep_for(1ms);
  *found = list_of("127.0.0.1", port, hints);
  has_answered = true;
  return 0;
}

// A name that becomes known after some time, as a cluster's new host does.
std::atomic<int> lookups_before_known = 0;

int late_lookup(const char* host, const char* port, const addrinfo* hints, addrinfo** found) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return ::getaddrinfo(host, port, hints, found);
  if (lookups_before_known > 0) {
    --lookups_before_known;
    return EAI_NONAME;
  }
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
  may_answer = has_answered = false;
  CHECK_THROWS_WITH(net::resolve({"node7", 80}, Deadline::after(100ms), slow_lookup),
                    ContainsSubstring("'node7'") && ContainsSubstring("name server"));
  CHECK_FALSE(has_answered);
  may_answer = true;
  const AddressList found = net::resolve({"node7", 80}, Deadline::never(), slow_lookup);
  CHECK(found->ai_next == nullptr);
  CHECK_NOTHROW(net::resolve({"127.0.0.1", 80}, Deadline::after(0ms), slow_lookup));  // a number needs no answer
}

TEST_CASE("a name server that is slower than each of many waits is asked once, and its answer used", "[net]") {
  may_answer = has_answered = false;
  times_asked = 0;
  for (int i = 0; i < 5; ++i) {
    CHECK_THROWS_AS(net::resolve({"node8", 80}, Deadline::after(10ms), slow_lookup), TimeoutError);
  }
  may_answer = true;
  const AddressList found = net::resolve({"node8", 80}, Deadline::never(), slow_lookup);
  CHECK(net::to_address(*found) == net::SocketAddress{"127.0.0.1", 80});
  CHECK(times_asked == 1);
}

TEST_CASE("an address that does not answer costs the name's other addresses nothing", "[net]") {
  const FullListener full;
  REQUIRE(full.is_full());
  const TcpListener good({"127.0.0.1", full.port()});
  const AddressList both = net::resolve({"node7", full.port()}, Deadline::never(), double_lookup);
  REQUIRE(both->ai_next != nullptr);
  const UniqueFd fd = net::connect_to_any(*both, "node7", Deadline::never());
  CHECK(net::ends_of(fd.get())->remote.host == "127.0.0.1");
}

TEST_CASE("an address that comes to listen is found beside one that never answers", "[net]") {
  const FullListener full;
  REQUIRE(full.is_full());
  const AddressList both = net::resolve({"node7", full.port()}, Deadline::never(), double_lookup);
  std::jthread late([&] {
    std::this_thread::sleep_for(700ms);
    TcpListener listener({"127.0.0.1", full.port()});
    (void)listener.accept(Deadline::after(10s));
  });
  CHECK(net::connect_to_any(*both, "node7", Deadline::after(20s)).is_open());
}

TEST_CASE("if no address answers, each is listed with what it did", "[net]") {
  const FullListener full;
  REQUIRE(full.is_full());
  const AddressList both = net::resolve({"node7", full.port()}, Deadline::never(), double_lookup);
  CHECK_THROWS_WITH(net::connect_to_any(*both, "node7", Deadline::after(1s)),
                    ContainsSubstring("cannot connect to node7, tried for ") &&
                        ContainsSubstring("127.0.0.2: Connection timed out") &&
                        ContainsSubstring("127.0.0.1: Connection refused"));
}

TEST_CASE("however often nobody answers, the next attempt has some time, and not too much", "[net]") {
  net::AttemptLimit limit(3s, 60s);
  CHECK(limit.now() == 3s);
  limit.grow();
  CHECK(limit.now() == 6s);
  for (int attempt = 0; attempt < 1000; ++attempt) limit.grow();
  CHECK(limit.now() == 60s);
}

TEST_CASE("a name that is not known yet is looked up again", "[net]") {
  lookups_before_known = 3;
  const AddressList found = net::resolve_until_known({"node7", 80}, Deadline::after(20s), late_lookup);
  CHECK(net::to_address(*found) == net::SocketAddress{"127.0.0.1", 80});
  CHECK(lookups_before_known == 0);
}

TEST_CASE("a name that stays unknown is named at the deadline", "[net]") {
  lookups_before_known = 1'000'000;
  CHECK_THROWS_WITH(net::resolve_until_known({"node7", 80}, Deadline::after(200ms), late_lookup),
                    ContainsSubstring("'node7' is unknown") && ContainsSubstring("tried for "));
  CHECK(lookups_before_known < 1'000'000 - 1);
}

// Not run by itself: the test below does, in a network namespace of its own.
TEST_CASE("connects to this machine", "[.]") {
  const AddressList own = net::resolve({"127.0.0.1", 29500}, Deadline::never());
  CHECK_NOTHROW(net::connect_to_any(*own, "127.0.0.1:29500", Deadline::after(20s)));
}

TEST_CASE("without a loopback interface nobody waits for an address of this machine", "[net]") {
  if (test::run_program({"unshare", "-rn", "true"}).exit_code != 0) test::skip("unshare -rn does not work here");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const test::Finished finished = test::run_program({"unshare", "-rn", self, "connects to this machine"});
  CHECK_THAT(finished.out, ContainsSubstring("loopback interface is down") && ContainsSubstring("ip link set lo up"));
}
