#include "launch/cores.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/affinity.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

TEST_CASE("there is a core, and at least as many threads as cores", "[launch]") {
  const lockstep::launch::Cores cores = lockstep::launch::usable_cores();
  CHECK(cores.physical >= 1);
  CHECK(cores.logical >= cores.physical);
}

// As /sys describes a board with two clusters of two cores each, whose cores are numbered anew in each cluster; then a
// server of two cores with two threads each; then a kernel that says nothing.
TEST_CASE("a core is what the kernel lists as its threads, not its number in a cluster", "[launch]") {
  const lockstep::test::TemporaryFolder system;
  const auto describe = [&](int cpu, int core_id, const std::string& threads) {
    const auto folder = system.path() / lockstep::concat("cpu", cpu) / "topology";
    std::filesystem::create_directories(folder);
    lockstep::write_file(folder / "core_id", std::to_string(core_id) + "\n");
    if (!threads.empty()) lockstep::write_file(folder / "core_cpus_list", threads + "\n");
  };
  for (const int cpu : {0, 1, 2, 3}) describe(cpu, cpu % 2, std::to_string(cpu));
  CHECK(lockstep::launch::count_cores({0, 1, 2, 3}, system.path()) == 4);
  for (const int cpu : {10, 11, 12, 13}) describe(cpu, cpu % 2, cpu % 2 == 0 ? "10,12" : "11,13");
  CHECK(lockstep::launch::count_cores({10, 11, 12, 13}, system.path()) == 2);
  CHECK(lockstep::launch::count_cores({10, 11}, system.path()) == 2);
  CHECK(lockstep::launch::count_cores({20, 21, 22}, system.path()) == 3);
}

TEST_CASE("the ranks' shares of the processors are disjoint and leave none out", "[launch]") {
  const std::vector<int> all = lockstep::allowed_cpus();
  const int world_size = GENERATE(1, 2, 3, 5);
  std::vector<int> shared_out;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::vector<int> share = lockstep::launch::share_of_cpus(rank, world_size);
    CHECK_FALSE(share.empty());
    CHECK(share.size() <= all.size() / static_cast<std::size_t>(world_size) + 1);
    shared_out.insert(shared_out.end(), share.begin(), share.end());
  }
  std::ranges::sort(shared_out);
  if (static_cast<std::size_t>(world_size) > all.size()) {  // some are shared
    CHECK(shared_out.size() == static_cast<std::size_t>(world_size));
    shared_out.erase(std::unique(shared_out.begin(), shared_out.end()), shared_out.end());
  }
  CHECK(shared_out == all);
}

TEST_CASE("a rank that there is not has no share", "[launch]") {
  CHECK_THROWS_AS(lockstep::launch::share_of_cpus(2, 2), lockstep::ContractError);
  CHECK_THROWS_AS(lockstep::launch::share_of_cpus(-1, 2), lockstep::ContractError);
}
