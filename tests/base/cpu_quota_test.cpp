#include "base/cpu_quota.hpp"

#include <filesystem>
#include <optional>
#include <string>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

TEST_CASE("the least quota of a control group and of those that it is in is the limit", "[base]") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder / file).parent_path());
    write_file(folder / file, text + "\n");
  };
  const auto quota = [&] { return cpu_quota(folder / "groups", folder / "root"); };
  CHECK(quota() == std::nullopt);  // nothing can be read
  SECTION("version 2") {
    write("groups", "0::/slice/job/step");
    write("root/slice/job/step/cpu.max", "max 100000");
    CHECK(quota() == std::nullopt);
    write("root/slice/job/cpu.max", "250000 100000");
    CHECK(quota() == 2.5);
    write("root/slice/job/step/cpu.max", "800000 100000");
    CHECK(quota() == 2.5);
    write("root/slice/cpu.max", "50000 100000");
    CHECK(quota() == 0.5);
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
