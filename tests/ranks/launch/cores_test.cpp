#include "launch/cores.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
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

TEST_CASE("the least quota of a control group and of those that it is in is the limit", "[launch]") {
  const lockstep::test::TemporaryFolder folder;
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder / file).parent_path());
    lockstep::write_file(folder / file, text + "\n");
  };
  const auto quota = [&] { return lockstep::launch::cpu_quota(folder / "groups", folder / "root"); };
  CHECK(quota() == std::nullopt);  // nothing can be read
  SECTION("version 2") {
    write("groups", "0::/slice/job/step");
    write("root/slice/job/step/cpu.max", "max 100000");
    CHECK(quota() == std::nullopt);
    write("root/slice/job/cpu.max", "250000 100000");
    CHECK(quota() == 3);
    write("root/slice/job/step/cpu.max", "800000 100000");
    CHECK(quota() == 3);
    write("root/slice/cpu.max", "10000 100000");
    CHECK(quota() == 1);
  }
  SECTION("version 1") {
    write("groups", "7:memory:/other\n4:cpu,cpuacct:/docker/job");
    write("root/cpu,cpuacct/docker/job/cpu.cfs_quota_us", "-1");
    write("root/cpu,cpuacct/docker/job/cpu.cfs_period_us", "100000");
    CHECK(quota() == std::nullopt);
    write("root/cpu,cpuacct/docker/cpu.cfs_quota_us", "400000");
    write("root/cpu,cpuacct/docker/cpu.cfs_period_us", "100000");
    CHECK(quota() == 4);
    write("root/other/cpu.max", "100000 100000");  // not of a controller of processors
    CHECK(quota() == 4);
  }
  SECTION("in a container, whose own group is the root") {
    write("groups", "0::/docker/1234");
    write("root/cpu.max", "200000 100000");
    CHECK(quota() == 2);
  }
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
