#include "launch/job_folder.hpp"

#include <stdlib.h>

#include "base/error.hpp"
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
  fs::create_directory(state.path / "job-4194304999-abcdef");  // no process can have this number
  const JobFolder job;
  CHECK_FALSE(fs::exists(state.path / "job-4194304999-abcdef"));
  CHECK(last_failure().has_value());
}

TEST_CASE("a state folder that is a link is refused", "[launch]") {
  const StateFolder state;
  fs::create_directory_symlink("/tmp", state.path / "link");
  setenv("LOCKSTEP_STATE_DIR", (state.path / "link").c_str(), 1);
  CHECK_THROWS_AS(JobFolder(), lockstep::IoError);
}
