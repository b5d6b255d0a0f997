// Ranks on two hosts: over a slow network that loses packets, and over one that goes away in the middle.
#include "two_hosts.hpp"

#include <memory>

#include "net/token.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::Finished;
using test::Subprocess;
using test::TwoHosts;

namespace {

constexpr int kWorldSize = 3;  // ranks 0 and 1 on the first host, rank 2 on the second

int host_of(int rank) { return rank == 2 ? 1 : 0; }

// Skips the test on a machine without network namespaces.
void require_hosts() {
  const std::string reason = TwoHosts::why_unavailable();
  if (!reason.empty()) test::skip("two hosts: " + reason);
}

// As a person would start a rank on each host by hand.
std::unique_ptr<Subprocess> start_rank(const TwoHosts& hosts, int rank, const std::string& token,
                                       const std::vector<std::string>& command) {
  return std::make_unique<Subprocess>(
      hosts.on_host(host_of(rank), command),
      std::vector<std::pair<std::string, std::string>>{{"RANK", std::to_string(rank)},
                                                       {"WORLD_SIZE", std::to_string(kWorldSize)},
                                                       {"LOCAL_RANK", std::to_string(rank == 2 ? 0 : rank)},
                                                       {"LOCAL_WORLD_SIZE", rank == 2 ? "1" : "2"},
                                                       {"MASTER_ADDR", TwoHosts::address(0)},
                                                       {"MASTER_PORT", "29517"},
                                                       {"LOCKSTEP_TOKEN", token},
                                                       {"LOCKSTEP_LOG", "debug"},
                                                       {"LOCKSTEP_LIVENESS_SECONDS", "2"}});
}

std::vector<std::unique_ptr<Subprocess>> start_all(const TwoHosts& hosts, const std::vector<std::string>& command) {
  const std::string token = net::make_token();
  std::vector<std::unique_ptr<Subprocess>> ranks;
  for (int rank = 0; rank < kWorldSize; ++rank) ranks.push_back(start_rank(hosts, rank, token, command));
  return ranks;
}

}  // namespace

TEST_CASE("ranks on two hosts reduce over a slow network that loses packets", "[integration][multirank]") {
  require_hosts();
  const TwoHosts hosts({.delay = 10ms, .bytes_per_second = 10e6, .lose_one_in = 200});
  const auto ranks = start_all(hosts, {test::built_program("ring_all_reduce"), "--count", "300000"});
  for (int rank = 0; rank < kWorldSize; ++rank) {
    const Finished finished = ranks[static_cast<std::size_t>(rank)]->wait();
    CAPTURE(rank, finished.out, finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, ContainsSubstring("-> [6, 12, 18, ...]"));  // 1 + 2 + 3 times 1, 2, 3
    CHECK_THAT(finished.err, ContainsSubstring("frames have a MAC"));    // with the rank on the other host
    if (rank == 2) CHECK_THAT(finished.err, !ContainsSubstring("frames have a checksum"));
  }
}

TEST_CASE("auto is a ring between two hosts, and shared memory in the part that lies on one",
          "[integration][multirank]") {
  require_hosts();
  const TwoHosts hosts({.delay = 1ms, .bytes_per_second = 100e6});
  const auto ranks = start_all(hosts, {test::built_program("collective_helper"), "3", "auto", "backends"});
  for (int rank = 0; rank < kWorldSize; ++rank) {
    const Finished finished = ranks[static_cast<std::size_t>(rank)]->wait();
    CAPTURE(rank, finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, ContainsSubstring(rank == 2 ? "backend ring, of its part ring\n"
                                                         : "backend ring, of its part shared_memory\n"));
  }
}

TEST_CASE("when the network goes away each side names ranks of the other", "[integration][multirank]") {
  require_hosts();
  TwoHosts hosts({.delay = 1ms, .bytes_per_second = 100e6});
  const auto ranks = start_all(hosts, {test::built_program("collective_helper"), "3", "ring", "all_reduce"});
  for (const auto& rank : ranks) REQUIRE(rank->wait_for_output("ready pid "));
  hosts.pull_cable();
  for (int rank = 0; rank < kWorldSize; ++rank) {
    const Finished finished = ranks[static_cast<std::size_t>(rank)]->wait();
    CAPTURE(rank, finished.err);
    CHECK(finished.exit_code == 1);
    CHECK_THAT(finished.err, ContainsSubstring(rank == 2 ? "rank 0" : "rank 2"));
    CHECK_THAT(finished.err, ContainsSubstring("is silent for"));
  }
}
