// Ranks on two hosts find each other although names and addresses are as awkward as real ones: a host whose own name is
// loopback to itself, IPv6 alone, link-local addresses, a name with an address where nobody answers, a name that
// becomes known late, and an interface chosen by the user.
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "net/token.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "two_hosts.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::Finished;
using test::Subprocess;
using test::TwoHosts;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr int kWorldSize = 3;  // ranks 0 and 1 on the first host, rank 2 on the second

int host_of(int rank) { return rank == 2 ? 1 : 0; }

// Skips the test on a machine without network namespaces.
void require_hosts() {
  std::string reason = TwoHosts::why_unavailable();
  if (reason.empty() && test::run_program({"unshare", "--mount", "--uts", "true"}).exit_code != 0) {
    reason = "unshare --mount --uts does not work here";
  }
  if (!reason.empty()) test::skip("two hosts: " + reason);
}

// Two hosts, each with a file of its own in place of /etc/hosts, that run one job.
class Job {
 public:
  Job() : hosts_({.delay = 1ms}) {
    for (int host = 0; host < 2; ++host) set_names(host, "");
  }

  // The entries of the host's /etc/hosts, besides localhost.
  void set_names(int host, const std::string& lines) const {
    write_file(names_of(host), "127.0.0.1 localhost\n::1 localhost\n" + lines);
  }

  // Runs ip(8) on a host.
  void ip(int host, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "ip");
    const Finished finished = test::run_program(hosts_.on_host(host, arguments));
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
  }

  [[nodiscard]] std::unique_ptr<Subprocess> start(int rank, Variables variables) const {
    const std::string hostname = concat("node", host_of(rank));
    // Only this process sees the file in place of /etc/hosts.
    const std::string script = "mount --bind \"$0\" /etc/hosts && hostname \"$1\" && shift && exec \"$@\"";
    variables.insert(variables.end(), {{"RANK", std::to_string(rank)},
                                       {"WORLD_SIZE", std::to_string(kWorldSize)},
                                       {"LOCAL_RANK", std::to_string(rank == 2 ? 0 : rank)},
                                       {"LOCAL_WORLD_SIZE", rank == 2 ? "1" : "2"},
                                       {"LOCKSTEP_TOKEN", token_},
                                       {"LOCKSTEP_LOG", "debug"}});
    return std::make_unique<Subprocess>(
        hosts_.on_host(host_of(rank), {"unshare", "--mount", "--uts", "sh", "-c", script, names_of(host_of(rank)),
                                       hostname, test::built_program("ring_all_reduce"), "--count", "3"}),
        variables);
  }

  [[nodiscard]] std::vector<std::unique_ptr<Subprocess>> start_all(const Variables& variables) const {
    std::vector<std::unique_ptr<Subprocess>> ranks;
    for (int rank = 0; rank < kWorldSize; ++rank) ranks.push_back(start(rank, variables));
    return ranks;
  }

  // For ip(8): on_host() is "ip netns exec NAMESPACE".
  [[nodiscard]] std::string namespace_of(int host) const { return hosts_.on_host(host, {}).back(); }

 private:
  [[nodiscard]] std::string names_of(int host) const { return (folder_ / concat("hosts", host)).string(); }

  TwoHosts hosts_;
  test::TemporaryFolder folder_;
  std::string token_ = net::make_token();
};

void check_sums(const std::vector<std::unique_ptr<Subprocess>>& ranks) {
  for (const auto& rank : ranks) {
    const Finished finished = rank->wait();
    CAPTURE(finished.out, finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, ContainsSubstring("-> [6, 12, 18]"));  // 1 + 2 + 3 times 1, 2, 3
  }
}

Variables meeting_at(const std::string& host) { return {{"MASTER_ADDR", host}, {"MASTER_PORT", "29517"}}; }

}  // namespace

TEST_CASE("a host whose own name is loopback to itself is met by others at its real address",
          "[integration][multirank]") {
  require_hosts();
  const Job job;
  job.set_names(0, "127.0.1.1 node0\n");  // as Debian's installer writes it
  job.set_names(1, "127.0.1.1 node1\n10.77.0.1 node0\n");
  check_sums(job.start_all(meeting_at("node0")));
}

TEST_CASE("ranks meet over IPv6 alone, by number and by name", "[integration][multirank]") {
  require_hosts();
  const Job job;
  for (int host = 0; host < 2; ++host) {
    job.ip(host, {"address", "flush", "dev", "cable"});
    job.ip(host, {"address", "add", concat("fd00:77::", host + 1, "/64"), "dev", "cable", "nodad"});
    job.set_names(host, "fd00:77::1 node0\n");
  }
  check_sums(job.start_all(meeting_at("fd00:77::1")));
  check_sums(job.start_all(meeting_at("[fd00:77::1]")));
  check_sums(job.start_all(meeting_at("node0")));
}

TEST_CASE("ranks meet at a link-local address though each host has its own name for the interface",
          "[integration][multirank]") {
  require_hosts();
  const Job job;
  for (int host = 0; host < 2; ++host) {
    job.ip(host, {"address", "add", concat("fe80::77:", host + 1, "/64"), "dev", "cable", "nodad"});
  }
  job.ip(1, {"link", "set", "cable", "down"});
  job.ip(1, {"link", "set", "cable", "name", "wire"});
  job.ip(1, {"link", "set", "wire", "up"});
  job.ip(1, {"address", "replace", "fe80::77:2/64", "dev", "wire", "nodad"});
  std::vector<std::unique_ptr<Subprocess>> ranks;
  for (int rank = 0; rank < kWorldSize; ++rank) {
    ranks.push_back(job.start(rank, meeting_at(concat("fe80::77:1%", rank == 2 ? "wire" : "cable"))));
  }
  check_sums(ranks);
}

TEST_CASE("an address of the name where nobody answers costs nothing", "[integration][multirank]") {
  require_hosts();
  const Job job;
  job.set_names(0, "10.77.0.1 node0\n");
  job.set_names(1, "10.77.0.99 node0\n10.77.0.1 node0\n");  // packets to the first one vanish
  check_sums(job.start_all(meeting_at("node0")));
}

TEST_CASE("a name that becomes known late is waited for", "[integration][multirank]") {
  require_hosts();
  const Job job;
  job.set_names(0, "127.0.1.1 node0\n");
  const auto ranks = job.start_all(meeting_at("node0"));
  REQUIRE(ranks[2]->wait_for_output("is unknown"));  // the warning, some seconds after the start
  job.set_names(1, "10.77.0.1 node0\n");
  check_sums(ranks);
}

TEST_CASE("ranks reach each other over the interface that the user names", "[integration][multirank]") {
  require_hosts();
  const Job job;
  job.ip(0, {"link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", job.namespace_of(1)});
  for (int host = 0; host < 2; ++host) {
    job.ip(host, {"address", "add", concat("10.78.0.", host + 1, "/24"), "dev", "wire"});
    job.ip(host, {"link", "set", "wire", "up"});
  }
  Variables variables = meeting_at("10.77.0.1");
  variables.emplace_back("LOCKSTEP_INTERFACE", "wire");
  const auto ranks = job.start_all(variables);
  REQUIRE(ranks[0]->wait_for_output("connected to rank 2 (10.78.0.2:"));
  check_sums(ranks);
}

TEST_CASE("an interface that a host does not have is named with those that it has", "[integration]") {
  require_hosts();
  const Job job;
  Variables variables = meeting_at("10.77.0.1");
  variables.emplace_back("LOCKSTEP_INTERFACE", "eth7");
  for (int rank = 0; rank < kWorldSize; ++rank) {
    const Finished finished = job.start(rank, variables)->wait();  // alone: it needs no other rank to find out
    CAPTURE(rank, finished.err);
    CHECK(finished.exit_code != 0);
    CHECK_THAT(finished.err, ContainsSubstring("LOCKSTEP_INTERFACE=eth7 names no network interface of this host") &&
                                 ContainsSubstring(concat("cable ", TwoHosts::address(host_of(rank)))));
  }
}

TEST_CASE("an interface that other hosts cannot reach is an error, not a wait", "[integration][multirank]") {
  require_hosts();
  const Job job;
  Variables variables = meeting_at("10.77.0.1");
  variables.emplace_back("LOCKSTEP_INTERFACE", "lo");
  const auto ranks = job.start_all(variables);
  for (const auto& rank : ranks) {
    const Finished finished = rank->wait();
    CAPTURE(finished.err);
    CHECK(finished.exit_code != 0);
    CHECK_THAT(finished.err, ContainsSubstring("ranks of other hosts cannot reach 127.0.0.1"));
  }
}

TEST_CASE("a rank that is told to be rank 0 on the wrong host says which addresses it has", "[integration]") {
  require_hosts();
  const Job job;
  job.set_names(0, "10.77.0.2 node1\n");
  const Finished finished = job.start(0, meeting_at("node1"))->wait();
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring("cannot listen on node1:29517, which is 10.77.0.2 and not this host") &&
                               ContainsSubstring("cable 10.77.0.1") && ContainsSubstring("MASTER_ADDR"));
}
