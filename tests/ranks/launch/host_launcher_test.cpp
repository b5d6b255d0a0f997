// The launcher of a list of hosts without agents. Whole jobs are tested with the program `lockstep`.
#include "launch/hosts/host_launcher.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

TEST_CASE("a host whose agent cannot be started again is tried again, and the others are not ended for it",
          "[launch]") {
  const test::TemporaryFolder folder;
  const std::string shell = (folder / "sh").string();  // removed by the second host's first start
  std::filesystem::create_symlink("/bin/sh", shell);
  const auto local = [](const std::string& host, std::vector<std::string> command) {
    return launch::HostStart{.entry = {.host = host, .user = {}}, .command = std::move(command), .is_local = true};
  };
  const std::string first = concat("while [ -e ", shell, " ]; do sleep 0.02; done; sleep 0.5; exit 1");
  launch::HostJob job;
  job.hosts = {local("a", {"/bin/sh", "-c", first}), local("b", {shell, "-c", concat("rm ", shell, "; exit 1")})};
  job.mark = "mark";
  job.order = [](std::size_t, int) { return launch::HostOrder{}; };
  job.may_come_back = true;
  job.backoff = 1ms;
  CHECK(launch::run_on_hosts(job) == 1);  // by the end of the first host
}
