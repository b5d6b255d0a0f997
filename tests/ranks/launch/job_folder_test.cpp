#include "launch/job_folder.hpp"

#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/state_folder.hpp"
#include "support/catch.hpp"

using namespace lockstep::launch;
namespace fs = std::filesystem;

namespace {

/// A state folder of the test's own.
class StateFolder {
 public:
  StateFolder() {
    std::string name = (fs::temp_directory_path() / "lockstep-test-XXXXXX").string();
    path = mkdtemp(name.data());
    setenv("LOCKSTEP_STATE_DIR", path.c_str(), 1);
  }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  ~StateFolder() {
    unsetenv("LOCKSTEP_STATE_DIR");
    fs::remove_all(path);
  }
  fs::path path;
};

}  // namespace

TEST_CASE("the folder of a job that ends well goes, that of a failed one is found again", "[launch]") {
  const StateFolder state;
  fs::path well;
  fs::path failed;
  {
    JobFolder job;
    well = job.path();
    CHECK(fs::is_directory(well));
  }
  CHECK_FALSE(fs::exists(well));
  CHECK_FALSE(last_failure().has_value());
  {
    JobFolder job;
    job.keep();
    failed = job.path();
  }
  CHECK(last_failure() == failed);
}

TEST_CASE("folders of killed launchers are removed by the next job, the last failure is not", "[launch]") {
  const StateFolder state;
  {
    JobFolder job;
    job.keep();
  }
  fs::create_directory(state.path / "job-abcdef");
  std::ofstream(state.path / "job-abcdef/lock") << "";  // and nobody holds it
  const JobFolder job;
  CHECK_FALSE(fs::exists(state.path / "job-abcdef"));
  CHECK(last_failure().has_value());
}

TEST_CASE("the folder of a job that runs stays, though its launcher's number means nothing here", "[launch]") {
  const StateFolder state;
  const JobFolder other;
  // As seen from another container. No process can have this number.
  fs::rename(other.path(), state.path / "job-4194304999-abcdef");
  const JobFolder job;
  CHECK(fs::exists(state.path / "job-4194304999-abcdef"));
}

TEST_CASE("a folder that is just being made stays, one that was left without a lock goes", "[launch]") {
  const StateFolder state;
  for (const char* name : {"job-fresh", "job-stale"}) fs::create_directory(state.path / name);
  fs::last_write_time(state.path / "job-stale", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const JobFolder job;
  CHECK(fs::exists(state.path / "job-fresh"));
  CHECK_FALSE(fs::exists(state.path / "job-stale"));
}

TEST_CASE("jobs that start at the same time do not remove each other's folders", "[launch]") {
  const StateFolder state;
  std::atomic<int> missing = 0;
  std::vector<std::thread> starters;
  for (int i = 0; i < 4; ++i) {
    starters.emplace_back([&missing] {
      for (int j = 0; j < 50; ++j) {
        const JobFolder job;
        if (!fs::exists(job.path() / "lock")) ++missing;
      }
    });
  }
  for (std::thread& starter : starters) starter.join();
  CHECK(missing == 0);
}

TEST_CASE("a state folder that is a link is refused", "[launch]") {
  const StateFolder state;
  fs::create_directory_symlink("/tmp", state.path / "link");
  setenv("LOCKSTEP_STATE_DIR", (state.path / "link").c_str(), 1);
  CHECK_THROWS_AS(JobFolder(), lockstep::IoError);
}

TEST_CASE("a state folder that others may write to is refused, with what to do", "[launch]") {
  const StateFolder state;
  for (const unsigned mode : {0777U, 0770U, 0702U, 01777U}) {
    REQUIRE(chmod(state.path.c_str(), mode) == 0);
    CHECK_THROWS_WITH(JobFolder(), ContainsSubstring("chmod go-w " + state.path.string()));
  }
  for (const unsigned mode : {0700U, 0755U}) {
    REQUIRE(chmod(state.path.c_str(), mode) == 0);
    CHECK_NOTHROW(JobFolder());
  }
}

TEST_CASE("TMPDIR may be missing from the environment or empty, but must be a folder", "[launch]") {
  const std::string before = lockstep::environment::get("TMPDIR").value_or("");
  for (const char* unset : {"", "/tmp"}) {
    setenv("TMPDIR", unset, 1);
    CHECK(lockstep::temporary_folder() == "/tmp");
  }
  for (const char* wrong : {"/nowhere/at/all", "/dev/null"}) {
    setenv("TMPDIR", wrong, 1);
    CHECK_THROWS_WITH(lockstep::temporary_folder(),
                      ContainsSubstring(std::string("TMPDIR=") + wrong + " is not a folder"));
  }
  unsetenv("TMPDIR");
  CHECK(lockstep::temporary_folder() == "/tmp");
  if (!before.empty()) setenv("TMPDIR", before.c_str(), 1);
}
