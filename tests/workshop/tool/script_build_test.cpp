// The shell script ./lockstep around a build. Stand-ins take the places of cmake, of ninja and of the tool.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::test::Finished;
using lockstep::test::run_program;

namespace {

/// The script in a course without sources. The stand-ins note how they were called, a line a call.
class StandInCourse {
 public:
  StandInCourse() {
    for (const char* name : {"chapters", "common", "exercises", "tests"}) fs::create_directories(course() / name);
    fs::copy_file(std::string(LOCKSTEP_SOURCE_DIR) + "/lockstep", course() / "lockstep");
    write("course/CMakePresets.json", "{}");
    write("course/build/cpu/bin/lockstep", "#!/bin/sh\n");
    write("bin/cmake", "#!/bin/sh\necho cmake \"$@\" >>'" + calls_.string() +
                           "'\n"
                           "echo \"CMAKE_HOME_DIRECTORY:INTERNAL=$PWD\" >build/cpu/CMakeCache.txt\n"
                           ": >build/cpu/build.ninja\n");
    write("bin/ninja", "#!/bin/sh\necho ninja \"$@\" \"disabled=$CCACHE_DISABLE\" >>'" + calls_.string() + "'\n");
  }

  [[nodiscard]] fs::path course() const { return folder_ / "course"; }

  /// An executable file beside the course. Those in bin/ come first in PATH.
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

  /// A command that builds little, in this course or a copy of it. Skips the test if packages are missing here.
  [[nodiscard]] Finished build_in(const fs::path& place) const {
    return finish({(place / "lockstep").string(), "--no-install", "doctor"});
  }

  /// The same, with a terminal as standard output and standard error; `kind` is its name in TERM, empty for none.
  [[nodiscard]] Finished build_on_terminal(const std::string& kind) const {
    const std::string command = "'" + (course() / "lockstep").string() + "' --no-install doctor";
    return finish({"script", "--quiet", "--return", "--command", command, "/dev/null"}, kind);
  }

  /// `./lockstep release` with these options.
  [[nodiscard]] Finished release(std::vector<std::string> options) const {
    options.insert(options.begin(), {(course() / "lockstep").string(), "--no-install", "release"});
    return finish(options);
  }

  /// The calls since the last take_calls().
  [[nodiscard]] std::string take_calls() const {
    std::string text;
    {
      std::ifstream file(calls_);
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    fs::remove(calls_);
    return text;
  }

 private:
  [[nodiscard]] Finished finish(const std::vector<std::string>& command,
                                const std::string& kind_of_terminal = "") const {
    const Finished script = run_program(command, {{"LOCKSTEP_PRESET", "cpu"},
                                                  {"LOCKSTEP_EMULATOR_CHECK", "0"},
                                                  {"CCACHE_DISABLE", ""},
                                                  {"CCACHE_READONLY", ""},
                                                  {"OMP_NUM_THREADS", "1"},
                                                  {"SHELL", "/bin/sh"},
                                                  {"TERM", kind_of_terminal},
                                                  {"PATH", (folder_ / "bin").string() + ":" + std::getenv("PATH")}});
    if ((script.out + script.err).find("lockstep: missing") != std::string::npos)
      lockstep::test::skip("packages are missing here");
    return script;
  }

  lockstep::test::TemporaryFolder folder_;
  fs::path calls_ = folder_ / "calls";
};

}  // namespace

// The files that CMake has written for ninja in the other place would compile the sources of that place.
TEST_CASE("a course that was moved or copied with its build folder is configured anew, once", "[tool]") {
  const bool is_copied = GENERATE(false, true);
  const StandInCourse stand_ins;
  REQUIRE(stand_ins.build_in(stand_ins.course()).exit_code == 0);
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("cmake --preset cpu") && !ContainsSubstring("--fresh"));
  CHECK(stand_ins.build_in(stand_ins.course()).exit_code == 0);
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("ninja") && !ContainsSubstring("cmake"));

  const fs::path other = stand_ins.course().parent_path() / "other place";
  if (is_copied)
    fs::copy(stand_ins.course(), other, fs::copy_options::recursive);
  else
    fs::rename(stand_ins.course(), other);
  const Finished script = stand_ins.build_in(other);
  CHECK(script.exit_code == 0);
  CHECK_THAT(script.err, ContainsSubstring("this course was moved or copied: configuring " + other.string()));
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("--fresh"));
  CHECK(stand_ins.build_in(other).exit_code == 0);
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("ninja") && !ContainsSubstring("cmake"));
}

// flock(1) ends with 1 if another process holds the lock, and with another status if there are no locks.
TEST_CASE("a build goes on where the file system has no locks, and says so", "[tool]") {
  const StandInCourse stand_ins;
  stand_ins.write("bin/flock", "#!/bin/sh\necho 'flock: 9: No locks available' >&2\nexit 71\n");
  const Finished script = stand_ins.build_in(stand_ins.course());
  CHECK(script.exit_code == 0);
  CHECK_THAT(script.err, ContainsSubstring("has no locks") && !ContainsSubstring("another build is running"));
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("ninja "));
}

// ccache itself would end each compilation with an error.
TEST_CASE("a build does without ccache if its cache cannot be written", "[tool]") {
  const StandInCourse stand_ins;
  stand_ins.write("bin/ccache", "#!/bin/sh\necho /dev/null/cache\n");
  const Finished script = stand_ins.build_in(stand_ins.course());
  CHECK(script.exit_code == 0);
  CHECK_THAT(script.err, ContainsSubstring("ccache cannot write its cache in /dev/null/cache"));
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("disabled=1"));
  stand_ins.write("bin/ccache", "#!/bin/sh\necho '" + (stand_ins.course() / "cache").string() + "'\n");
  CHECK(stand_ins.build_in(stand_ins.course()).exit_code == 0);
  CHECK_THAT(stand_ins.take_calls(), ContainsSubstring("disabled=\n"));
}

TEST_CASE("a build redraws its line on terminals that can, and only there", "[tool]") {
  const StandInCourse stand_ins;
  stand_ins.write("bin/ninja", "#!/bin/sh\necho '[1/2] compiling'\n");
  CHECK_THAT(stand_ins.build_on_terminal("xterm").out, ContainsSubstring("\033[Kbuilding [1/2] compiling"));
  for (const std::string kind : {"dumb", ""})
    CHECK_THAT(stand_ins.build_on_terminal(kind).out,
               ContainsSubstring("lockstep: built 1 of 2") && !ContainsSubstring("\033"));
}

// nproc says 1 with OMP_NUM_THREADS=1, as exercises and measurements set it.
TEST_CASE("a build uses the machine's cores, however many threads the programs are told to use", "[tool]") {
  const StandInCourse stand_ins;
  const std::string asked = (stand_ins.course() / "asked").string();
  stand_ins.write("bin/nproc", "#!/bin/sh\necho \"threads: $OMP_NUM_THREADS.\" >'" + asked + "'\necho 1\n");
  CHECK(stand_ins.build_in(stand_ins.course()).exit_code == 0);
  std::ifstream file(asked);
  CHECK(std::string{std::istreambuf_iterator<char>(file), {}} == "threads: .\n");
}

// The copy of the script reads the kernel's files from folders of the test.
TEST_CASE("a build has no more compilers at once than the limits of control groups allow", "[tool]") {
  const StandInCourse stand_ins;
  const fs::path kernel = stand_ins.course().parent_path();
  stand_ins.write("bin/nproc", "#!/bin/sh\necho 16\n");
  std::string script = lockstep::read_file(stand_ins.course() / "lockstep");
  for (const char* path : {"/sys/fs/cgroup", "/proc/self/cgroup", "/proc/meminfo"}) {
    const std::string wanted = path;
    std::size_t at = script.find(wanted);
    REQUIRE(at != std::string::npos);
    for (; at != std::string::npos; at = script.find(wanted, at + kernel.string().size() + wanted.size()))
      script.insert(at, kernel.string());
  }
  lockstep::write_file(stand_ins.course() / "lockstep", script);
  stand_ins.write("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 48000000 kB\n");
  const auto jobs = [&](const std::string& own_groups) {
    stand_ins.write("proc/self/cgroup", own_groups);
    CHECK(stand_ins.build_in(stand_ins.course()).exit_code == 0);
    const std::string calls = stand_ins.take_calls();
    const std::size_t at = calls.find(" -j ");
    return at == std::string::npos ? calls : calls.substr(at + 4, calls.find(' ', at + 4) - at - 4);
  };
  CHECK(jobs("") == "16");
  CHECK(jobs("0::/none/here\n") == "16");
  const std::string gib = "000000000\n";
  stand_ins.write("sys/fs/cgroup/memory.max", "max\n");
  stand_ins.write("sys/fs/cgroup/memory.current", "1" + gib);
  CHECK(jobs("0::/\n") == "16");
  // 20 GB of 24 are taken, 3 of them by files that the kernel can drop.
  stand_ins.write("sys/fs/cgroup/a/memory.max", "24" + gib);
  stand_ins.write("sys/fs/cgroup/a/memory.current", "20" + gib);
  stand_ins.write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 2" + gib + "active_file 1" + gib);
  CHECK(jobs("0::/a\n") == "4");
  stand_ins.write("sys/fs/cgroup/a/b c/memory.max", "8" + gib);
  stand_ins.write("sys/fs/cgroup/a/b c/memory.current", "0\n");
  CHECK(jobs("0::/a/b c\n") == "4");  // the parent's limit
  stand_ins.write("sys/fs/cgroup/a/b c/memory.max", "2" + gib);
  CHECK(jobs("0::/a/b c\n") == "1");
  stand_ins.write("sys/fs/cgroup/a/b c/memory.max", "1" + gib);
  CHECK(jobs("0::/a/b c\n") == "1");  // never none
  stand_ins.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  stand_ins.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1" + gib);
  CHECK(jobs("5:cpu,cpuacct:/a\n4:memory:/x\n0::/\n") == "16");
  stand_ins.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "6" + gib);
  stand_ins.write("sys/fs/cgroup/memory/memory.stat",
                  "inactive_file 1" + gib + "total_inactive_file 1" + gib + "total_active_file 0\n");
  CHECK(jobs("5:cpu,cpuacct:/a\n4:memory:/x\n0::/\n") == "3");
}

TEST_CASE("a release is refused at once on processors that it is not compiled for", "[tool]") {
  const StandInCourse stand_ins;
  stand_ins.write("course/build/cpu/bin/lockstep_make_release", "#!/bin/sh\necho made\n");
  stand_ins.write("bin/uname", "#!/bin/sh\necho aarch64\n");
  const Finished refused = stand_ins.release({"--class", "c", "--out", "o"});
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, ContainsSubstring("this machine has aarch64: make it on an x86-64 machine"));
  CHECK(!fs::exists(stand_ins.course() / "build/cpu/build.ninja"));
  CHECK(stand_ins.release({"--check", "o"}).out == "made\n");
  CHECK(stand_ins.release({"--help"}).out == "made\n");
  stand_ins.write("bin/uname", "#!/bin/sh\necho x86_64\n");
  CHECK(stand_ins.release({"--class", "c", "--out", "o"}).out == "made\n");
}
