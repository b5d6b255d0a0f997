#include "net/interfaces.hpp"

#include <sys/resource.h>

#include <map>

#include "base/error.hpp"
#include "net/descriptor_limit.hpp"
#include "net/stream_socket.hpp"
#include "net/tcp_listener.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::address_of_interface;
using net::SocketAddress;

namespace {

// As of a host with two networks.
const std::vector<net::InterfaceAddress> kHost{
    {"lo", "127.0.0.1"}, {"docker0", "172.17.0.1"}, {"eth10", "10.0.10.2"}, {"eth1", "10.0.1.2"},
    {"lo", "::1"},       {"eth1", "fd00:1::2"},     {"ib0", "fe80::2%ib0"}};

auto lookup_in(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// Sets the process's limit of open files for the length of a test.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t soft) {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const rlimit lowered{soft, old_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  [[nodiscard]] rlim_t hard() const { return old_.rlim_max; }

 private:
  rlimit old_{};
};

rlim_t soft_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

TEST_CASE("an interface is named as NCCL_SOCKET_IFNAME names it", "[net]") {
  CHECK(address_of_interface("eth1", "", kHost) == "10.0.1.2");  // not eth10, which begins so and comes first
  CHECK(address_of_interface("eth", "", kHost) == "10.0.10.2");
  CHECK(address_of_interface("=eth1", "", kHost) == "10.0.1.2");
  CHECK(address_of_interface("ens,ib", "", kHost) == "fe80::2%ib0");
  CHECK(address_of_interface("ib0,eth1", "", kHost) == "fe80::2%ib0");
  CHECK(address_of_interface("^docker", "", kHost) == "10.0.10.2");  // loopback is no answer either
  CHECK(address_of_interface("^docker,eth", "", kHost) == "fe80::2%ib0");
  CHECK(address_of_interface("lo", "", kHost) == "127.0.0.1");
}

TEST_CASE("of an interface's addresses the one of the store's family is taken", "[net]") {
  CHECK(address_of_interface("eth1", "fd00:9::9", kHost) == "fd00:1::2");
  CHECK(address_of_interface("eth1", "10.9.9.9", kHost) == "10.0.1.2");
  CHECK(address_of_interface("ib0", "10.9.9.9", kHost) == "fe80::2%ib0");  // it has no other
}

TEST_CASE("an interface that is not there is an error that lists those that are", "[net]") {
  for (const char* wanted : {"eno1", "=eth", "^docker,eth,ib", "=", "^"}) {
    CAPTURE(wanted);
    CHECK_THROWS_WITH(address_of_interface(wanted, "", kHost),
                      ContainsSubstring(concat("LOCKSTEP_INTERFACE=", wanted, " names no network interface")) &&
                          ContainsSubstring("lo 127.0.0.1, ::1; docker0 172.17.0.1; eth10 10.0.10.2; "
                                            "eth1 10.0.1.2, fd00:1::2; ib0 fe80::2%ib0"));
  }
}

TEST_CASE("this host's interfaces have a loopback address that is its own", "[net]") {
  const auto addresses = net::interface_addresses();
  CHECK_THAT(net::describe(addresses), ContainsSubstring("127.0.0.1"));
  CHECK(net::is_own_address("127.0.0.1"));
  CHECK(net::is_own_address("127.0.1.1"));           // the whole net, if the interface names one address
  CHECK_FALSE(net::is_own_address("198.51.100.7"));  // for documentation only: RFC 5737
}

TEST_CASE("what the user says of the listeners' address is checked", "[net]") {
  using Variables = std::map<std::string, std::string>;
  const auto given = [](Variables variables) { return net::given_bind_address("", lookup_in(std::move(variables))); };
  CHECK(given({}) == std::nullopt);
  CHECK(given({{"LOCKSTEP_INTERFACE", "lo"}}) == "127.0.0.1");
  CHECK(given({{"LOCKSTEP_BIND_ADDRESS", "127.0.0.2"}, {"LOCKSTEP_INTERFACE", "lo"}}) == "127.0.0.2");
  CHECK(given(Variables{{"LOCKSTEP_BIND_ADDRESS", "localhost"}}) == "localhost");
  CHECK(given(Variables{{"LOCKSTEP_BIND_ADDRESS", "0.0.0.0"}}) == std::nullopt);  // nobody can connect to that
  CHECK(given(Variables{{"LOCKSTEP_BIND_ADDRESS", "[::]"}}) == std::nullopt);
  CHECK_THROWS_WITH(given(Variables{{"LOCKSTEP_BIND_ADDRESS", "198.51.100.7"}}),
                    ContainsSubstring("198.51.100.7 is not an address of this host") && ContainsSubstring("127.0.0.1"));
}

TEST_CASE("a listener takes the number that it is given, and refuses another host's", "[net]") {
  const Deadline soon = Deadline::after(5s);
  CHECK(net::listening_address({"127.0.0.1", 80}, soon) == SocketAddress{"127.0.0.1", 80});
  CHECK(net::listening_address({"localhost", 80}, soon).host == "localhost");
  CHECK_THROWS_WITH(net::TcpListener({"198.51.100.7", 0}), ContainsSubstring("198.51.100.7") &&
                                                               ContainsSubstring("this host has ") &&
                                                               ContainsSubstring("127.0.0.1"));
}

TEST_CASE("a listener on all addresses is reached by IPv4, and names it as IPv4", "[net]") {
  net::TcpListener listener({"::", 0});
  const auto deadline = Deadline::after(10s);
  const auto client = net::StreamSocket::connect({"127.0.0.1", listener.address().port}, deadline);
  const auto server = listener.accept(deadline);
  CHECK(server.remote_address() == client.local_address());
  CHECK(server.local_address().host == "127.0.0.1");
  CHECK(server.is_within_host());
}

TEST_CASE("the soft limit of open files is raised where it is too low, and only then", "[net]") {
  const DescriptorLimit limit(100);
  CHECK(net::raise_descriptor_limit(50) == 100);
  CHECK(soft_limit() == 100);
  CHECK(net::raise_descriptor_limit(200) == 200);
  CHECK(soft_limit() == 200);
}

TEST_CASE("a hard limit of open files that is too low is an error with what to do", "[net]") {
  const DescriptorLimit limit(100);
  if (limit.hard() == RLIM_INFINITY) test::skip("the hard limit of open files is infinite here");
  CHECK(net::raise_descriptor_limit(limit.hard() + 1) == limit.hard());
  CHECK_THROWS_WITH(net::require_descriptors(limit.hard() + 1, "rank 0 of 9 ranks"),
                    ContainsSubstring(concat("rank 0 of 9 ranks needs ", limit.hard() + 1)) &&
                        ContainsSubstring(concat("may have ", limit.hard())) && ContainsSubstring("ulimit -Hn"));
}
