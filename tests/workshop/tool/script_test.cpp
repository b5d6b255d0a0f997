// The shell script ./lockstep, as far as it runs without installing or building.
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::test::Finished;
using lockstep::test::run_program;

namespace {

const std::string kScript = std::string(LOCKSTEP_SOURCE_DIR) + "/lockstep";

/// A folder of links to programs, used as a PATH that lacks all others.
class ProgramFolder {
 public:
  explicit ProgramFolder(const std::vector<std::string>& programs) {
    std::string name = (fs::temp_directory_path() / "lockstep-path-XXXXXX").string();
    path = mkdtemp(name.data());
    for (const std::string& program : programs) {
      for (const fs::path folder : {"/usr/bin", "/bin"}) {
        std::error_code exists_already;
        if (fs::exists(folder / program)) fs::create_symlink(folder / program, path / program, exists_already);
      }
    }
  }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;
  ~ProgramFolder() { fs::remove_all(path); }
  fs::path path;
};

}  // namespace

TEST_CASE("the script says what to do first if nothing is built", "[tool]") {
  const Finished script = run_program({kScript}, {{"LOCKSTEP_PRESET", "not-built"}});
  CHECK(script.exit_code == 0);
  CHECK_THAT(script.out, ContainsSubstring("./lockstep train") && ContainsSubstring("./lockstep test"));
  CHECK_FALSE(fs::exists(fs::path(LOCKSTEP_SOURCE_DIR) / "build" / "not-built"));
}

TEST_CASE("in a repository for students the script names their first exercise, and no tests", "[tool]") {
  const lockstep::test::TemporaryFolder folder;
  fs::copy_file(kScript, folder / "lockstep");
  std::ofstream(folder / "RELEASE") << "release: release-x\n";
  for (const std::string number : {"2", "10"}) {
    fs::create_directories(folder / "exercises/07_x" / number);
    std::ofstream(folder / "exercises/07_x" / number / "exercise.json") << "{\n  \"id\": \"07." + number + "\",\n}\n";
  }
  const Finished script = run_program({(folder / "lockstep").string()}, {});
  INFO(script.out << script.err);
  CHECK(script.exit_code == 0);
  CHECK_THAT(script.out, ContainsSubstring("./lockstep start 07.2 ") && !ContainsSubstring("./lockstep test"));
}

// A folder that only its owner may write to, with another user, or with the owner after giving up that right.
TEST_CASE("a course that this user cannot write to is said to be its owner's, with how to get one's own", "[tool]") {
  const lockstep::test::TemporaryFolder folder;
  const fs::path course = folder / "our course";
  const std::string quoted = (folder / "our").string() + "\\ course";  // to be typed
  fs::create_directories(course / "build" / "cpu");
  fs::copy_file(kScript, course / "lockstep");
  std::ofstream(course / "build" / "cpu" / "lock") << "";
  const bool is_root = geteuid() == 0;
  const bool has_build = GENERATE(true, false);
  const bool has_git = GENERATE(true, false);
  if (!has_build) fs::remove_all(course / "build");
  if (has_git) fs::create_directory(course / ".git");
  const std::vector<fs::path> read_only = {course, course / "build", course / "build" / "cpu"};
  const auto allow = [&](fs::perms who) {
    for (const fs::path& path : read_only)
      if (fs::exists(path))
        fs::permissions(path, who | fs::perms::others_read | fs::perms::others_exec | fs::perms::group_read |
                                  fs::perms::group_exec);
  };
  fs::permissions(folder.path(), fs::perms::all);
  allow(is_root ? fs::perms::owner_all : fs::perms::owner_read | fs::perms::owner_exec);
  std::vector<std::string> command = {(course / "lockstep").string(), "train"};
  if (is_root) command.insert(command.begin(), {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"});
  const Finished script = run_program(command, {{"LOCKSTEP_PRESET", "cpu"}});
  allow(fs::perms::owner_all);
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring(is_root ? "this course belongs to root" : "nothing can be written in"));
  CHECK_THAT(script.err, ContainsSubstring((has_git ? "git clone " : "cp -r ") + quoted));
  CHECK_THAT(script.err, !ContainsSubstring("Permission denied"));
}

TEST_CASE("the script lists what is missing with reasons, and installs nothing when told so", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "g++", "cmake"});
  const Finished script = run_program({kScript, "--no-install"}, {{"PATH", programs.path.string()}});
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring("ninja-build") && ContainsSubstring("runs the build"));
  CHECK_THAT(script.err, !ContainsSubstring("compiles the code"));  // g++ is there
}

TEST_CASE("the script lists what the site needs, and nothing else", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "python3"});
  const Finished script = run_program({kScript, "--no-install", "docs"}, {{"PATH", programs.path.string()}});
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring("cmark-gfm") && ContainsSubstring("renders Markdown as GitHub does"));
  CHECK_THAT(script.err, ContainsSubstring("doxygen") && !ContainsSubstring("ninja-build"));
}

TEST_CASE("the script lists what grading needs, too, for the commands that build it", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "uname"});
  const std::string grading = "runs submissions in a sandbox";
  for (const std::string command : {"submit", "grade", "test"}) {
    const Finished script = run_program({kScript, "--no-install", command}, {{"PATH", programs.path.string()}});
    CHECK(script.exit_code == 1);
    CHECK_THAT(script.err, ContainsSubstring("runs the build") && ContainsSubstring(grading));
  }
  const Finished script = run_program({kScript, "--no-install", "train"}, {{"PATH", programs.path.string()}});
  CHECK_THAT(script.err, ContainsSubstring("runs the build") && !ContainsSubstring(grading));
}

TEST_CASE("the script works from any folder and through a link", "[tool]") {
  const ProgramFolder folder({});
  fs::create_symlink(kScript, folder.path / "linked");
  const Finished script = run_program({"sh", "-c", "cd / && exec " + (folder.path / "linked").string() + " --help"},
                                      {{"LOCKSTEP_PRESET", "not-built"}});
  CHECK(script.exit_code == 0);
}

TEST_CASE("the script answers at once, without a build: help, its version, and a command that does not exist",
          "[tool]") {
  const auto run = [](const std::vector<std::string>& words) {
    std::vector<std::string> command{kScript};
    command.insert(command.end(), words.begin(), words.end());
    return run_program(command, {{"LOCKSTEP_PRESET", "not-built"}});
  };
  const Finished tool =
      run_program({lockstep::test::built_program("lockstep"), "--help"}, {{"LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR}});
  CHECK(run({"--help"}).out == tool.out);
  for (const std::string last : {"help", "--help"}) CHECK(run({"help", last}).out == run({"-h"}).out);
  CHECK(run({"help"}).out == run({"-h"}).out);
  CHECK(run({"--version"}).out.starts_with("Lockstep 0."));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"help", "generate"}, {"generate", "--help"}}) {
    const Finished script = run(words);
    CHECK(script.exit_code == 0);
    CHECK(script.out.starts_with("  generate [options] "));
  }
  for (const auto& [word, meant] : {std::pair<std::string, std::string>{"trian", "train"},
                                    {"chekc", "check"},
                                    {"hlep", "help"},
                                    {"progres", "progress"},
                                    {"evalaute", "evaluate"},
                                    {"realease", "release"}}) {
    const Finished script = run({word, "--anything"});
    CHECK(script.exit_code == 2);
    CHECK_THAT(script.err, ContainsSubstring("unknown command " + word + "; did you mean " + meant + "?"));
  }
  for (const std::string word : {"xyzzy", "02.1", "--steps", "t", "-x"}) {
    const Finished script = run({word});
    CHECK(script.exit_code == 2);
    CHECK_THAT(script.err, ContainsSubstring("unknown command " + word + "  ("));
  }
  CHECK_FALSE(fs::exists(fs::path(LOCKSTEP_SOURCE_DIR) / "build" / "not-built"));
}

// Ctrl-C signals the terminal's foreground group of processes. The script gets one of its own here, which does not
// ignore SIGINT as a shell's background does.
TEST_CASE("Ctrl-C ends the sanitizers' tests of continuous integration with the script", "[tool]") {
  const std::string ci = std::string(LOCKSTEP_SOURCE_DIR) + "/.ci/run";
  const lockstep::test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
    fs::permissions(folder / name, fs::perms::owner_all);
  };
  write("bin/cmake", "#!/bin/sh\n");
  write("build/asan/tests/slow_test", "#!/bin/sh\n: >started\nsleep 10\n: >lasted\n");
  write("script", "set -euo pipefail\nroot=$PWD scratch=$PWD\n. ./function\nsanitized asan slow_test 2>&1 | tee log\n");
  const std::string path = (folder / "bin").string() + ":" + std::getenv("PATH");
  const Finished script = run_program({"sh", "-c",
                                       "cd \"$1\" && sed -n '/^sanitized() /,/^}/p' \"$2\" >function || exit\n"
                                       "env --default-signal=INT setsid bash script &\n"
                                       "for i in $(seq 200); do if [ -e started ]; then break; fi; sleep 0.1; done\n"
                                       "kill -INT -$!\n"
                                       "wait $!",
                                       "sh", folder.path().string(), ci},
                                      {{"PATH", path}});
  INFO(script.out << script.err);
  CHECK(script.exit_code != 0);
  CHECK_FALSE(fs::exists(folder / "lasted"));
}

// Stand-ins take the places of cmake, of ninja, which says what it was asked for, and of the tool.
TEST_CASE("run and emulate build what they run, and no other program", "[tool]") {
  const lockstep::test::TemporaryFolder folder;
  const fs::path course = folder / "course";
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
    fs::permissions(folder / name, fs::perms::owner_all);
  };
  for (const char* name : {"common", "exercises"}) fs::create_directories(course / name);
  fs::copy_file(kScript, course / "lockstep");
  write("course/CMakePresets.json", "{}");
  write("course/chapters/01_first/programs/server.cpp", "");
  write("course/chapters/01_first/setup.cpp", "");
  write("course/chapters/04_second/programs/kernel.cu", "");
  write("course/build/cpu/bin/lockstep", "#!/bin/sh\n");
  write("bin/cmake", "#!/bin/sh\n");
  write("bin/ninja", "#!/bin/sh\nshift 4\necho asked for \"$@.\"\n");  // after -C FOLDER -j N
  const std::string path = (folder / "bin").string() + ":" + std::getenv("PATH");
  const auto asked_for = [&](const std::vector<std::string>& words) {
    std::vector<std::string> command{(course / "lockstep").string(), "--no-install"};
    command.insert(command.end(), words.begin(), words.end());
    const Finished script =
        run_program(command, {{"LOCKSTEP_PRESET", "cpu"}, {"LOCKSTEP_EMULATOR_CHECK", "0"}, {"PATH", path}});
    if (script.err.find("lockstep: missing") != std::string::npos) lockstep::test::skip("packages are missing here");
    INFO(script.out << script.err);
    CHECK(script.exit_code == 0);
    const std::size_t begin = script.err.find("asked for ");
    REQUIRE(begin != std::string::npos);
    return script.err.substr(begin + 10, script.err.find('.', begin) - begin - 10);
  };
  CHECK(asked_for({"run", "01", "server", "--port", "0"}) == "lockstep server");
  CHECK(asked_for({"run", "4", "kernel"}) == "lockstep kernel");
  CHECK(asked_for({"run", "01_first", "--nproc", "2"}) == "lockstep programs_01");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run"},
                                                {"run", "01"},
                                                {"run", "07", "server"},
                                                {"run", "01", "sever"},
                                                {"run", "01", "../setup"},
                                                {"run", "first", "server"},
                                                {"emulate", "mine.cu"}})
    CHECK(asked_for(words) == "lockstep");
  CHECK(asked_for({"launch", "--nproc", "2", "server"}) == "programs");
}

// The first apt-get finds the lock taken, as it does for its lists of packages: it does not wait for these itself.
TEST_CASE("the script says that it waits for another program that installs packages", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "id", "mktemp", "sleep", "grep", "tail", "rm",
                                "cat", "python3", "cmark-gfm"});
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(programs.path / name) << "#!/usr/bin/env bash\n" << text;
    fs::permissions(programs.path / name, fs::perms::owner_all);
  };
  write("sudo", "\"$@\"\n");
  write("apt-get", "echo \"$@\" >>" + (programs.path / "calls").string() +
                       "\n"
                       "[ \"$(grep -c update " +
                       (programs.path / "calls").string() +
                       ")\" = 1 ] || exit 0\n"
                       "echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (other)'\n"
                       "sleep 9; exit 100\n");  // the script looks after 5 seconds
  const Finished script = run_program({kScript, "docs"}, {{"PATH", programs.path.string()}});
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring("another program is installing packages: held by process 7 (other)"));
  CHECK_THAT(script.err, ContainsSubstring("waiting for it, five minutes at most"));
  CHECK_THAT(script.err, ContainsSubstring("installed, but still not found: "));
  std::ifstream calls(programs.path / "calls");
  const std::string all{std::istreambuf_iterator<char>(calls), {}};
  CHECK_THAT(all, ContainsSubstring("update") && ContainsSubstring("install --no-install-recommends"));
}

// The stand-in for apt-get sends what Ctrl-C sends: a signal to all processes of the group, which here is the script's.
// In the background tests may have been told to ignore it.
TEST_CASE("Ctrl-C ends apt-get, and the script after it", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "id", "mktemp", "sleep", "grep", "tail", "rm",
                                "true", "python3", "cmark-gfm", "setsid"});
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(programs.path / name) << "#!/usr/bin/env bash\n" << text;
    fs::permissions(programs.path / name, fs::perms::owner_all);
  };
  const std::string calls = (programs.path / "calls").string();
  write("sudo", "exec \"$@\"\n");
  write("apt-get",
        "trap 'sleep 1; echo ended >>" + calls + "; exit 100' INT\nkill -INT 0\necho 'went on' >>" + calls + "\n");
  const Finished script = run_program({"setsid", "--wait", "env", "--default-signal=INT", kScript, "docs"},
                                      {{"PATH", programs.path.string()}});
  CHECK(script.exit_code == 130);
  std::ifstream file(calls);
  CHECK(std::string{std::istreambuf_iterator<char>(file), {}} == "ended\n");
  CHECK_THAT(script.err, !ContainsSubstring("failed"));
}
