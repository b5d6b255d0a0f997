// Everything here that starts a program, with a descriptor left open that nobody has marked to be closed on exec: what
// is started must not see it. (The grader's descriptors once reached students so.)
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "data/fetch.hpp"
#include "exercise/rank_process.hpp"
#include "exercise_tool/shell.hpp"
#include "launch/hosts/host_process.hpp"
#include "launch/local/signal_queue.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kHigh = 747;

// Writes what the shell that runs it has open into a file, so that output that goes elsewhere does not matter.
class Leak {
 public:
  Leak() : fd_(::fcntl(STDERR_FILENO, F_DUPFD, kHigh)) {
    REQUIRE(fd_.get() >= kHigh);
    REQUIRE((::fcntl(fd_.get(), F_GETFD) & FD_CLOEXEC) == 0);
    write_file(folder_ / "look", concat("#!/bin/sh\nls /proc/$$/fd > '", list().string(), "'\n"));
    fs::permissions(folder_ / "look", fs::perms::owner_all);
  }

  // A program that looks, under any name.
  fs::path program(const std::string& name) const {
    fs::copy_file(folder_ / "look", folder_ / name, fs::copy_options::overwrite_existing);
    return folder_ / name;
  }
  std::string program() const { return (folder_ / "look").string(); }
  fs::path folder() const { return folder_.path(); }

  void check_unseen() const {
    const Deadline deadline = Deadline::after(std::chrono::seconds(20));
    while (!fs::exists(list()) && !deadline.has_expired()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    REQUIRE(fs::exists(list()));
    std::string seen;
    do seen = read_file(list());
    while (seen.empty() && !deadline.has_expired());
    CHECK_THAT(seen, ContainsSubstring("0\n"));
    CHECK_THAT(seen, !ContainsSubstring(std::to_string(kHigh / 10)));
  }

 private:
  fs::path list() const { return folder_ / "seen"; }

  test::TemporaryFolder folder_;
  UniqueFd fd_;
};

// Runs a command that itself has inherited the descriptor.
test::Finished run_leaking(const std::string& command,
                           const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  return test::run_program({"bash", "-c", concat("exec ", command, " ", kHigh, ">&2")}, variables);
}

std::string path_with(const Leak& leak) { return concat(leak.folder().string(), ":", std::getenv("PATH")); }

}  // namespace

TEST_CASE("a rank sees no descriptor of the launcher", "[integration]") {
  const Leak leak;
  const test::Finished job =
      run_leaking(concat(test::built_program("lockstep"), " launch --nproc 2 -- ", leak.program()));
  CHECK(job.exit_code == 0);
  leak.check_unseen();
}

TEST_CASE("an agent sees no descriptor of the launcher", "[integration]") {
  const Leak leak;
  launch::HostProcess agent({leak.program()}, launch::inheritable_signals(), [](auto, auto) {});
  while (!agent.status()) agent.advance(true);
  leak.check_unseen();
}

TEST_CASE("a downloader sees no descriptor of a trainer", "[integration]") {
  const Leak leak;
  CHECK_THROWS_AS(
      data::fetch({.url = "https://example.org", .sha256 = "0", .program = leak.program()}, leak.folder() / "data"),
      IoError);
  leak.check_unseen();
}

TEST_CASE("a judged program sees no descriptor of the judge", "[integration]") {
  const Leak leak;
  (void)exercise::output_of({leak.program()});
  leak.check_unseen();
}

TEST_CASE("a compiler or a judge sees no descriptor of the exercises' commands", "[integration]") {
  const Leak leak;
  (void)exercise::run({leak.program()}, leak.folder(), Collect::kBoth);
  leak.check_unseen();
}

TEST_CASE("nvidia-smi sees no descriptor of the program that asks it", "[integration]") {
  const Leak leak;
  (void)leak.program("nvidia-smi");
  (void)run_leaking(test::built_program("topology"), {{"PATH", path_with(leak)}});
  leak.check_unseen();
}

TEST_CASE("addr2line sees no descriptor of a checked program", "[integration]") {
  const Leak leak;
  (void)leak.program("addr2line");
  (void)run_leaking(concat(test::built_program("planted"), " broadcast_reused"),
                    {{"PATH", path_with(leak)}, {"LOCKSTEP_EMULATOR_CHECK", "1"}});
  leak.check_unseen();
}

TEST_CASE("a program of a test sees no descriptor of the test", "[integration]") {
  const Leak leak;
  (void)test::run_program({leak.program()});
  leak.check_unseen();
}
