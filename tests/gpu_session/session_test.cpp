// session.sh on stand-ins: a folder like the one that carry.sh makes, whose programs are scripts.
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::test::Finished;

namespace {

class Machine {
 public:
  Machine() {
    fs::copy(LOCKSTEP_SESSION_FOLDER "/session.sh", set() / "");
    fs::copy(LOCKSTEP_SESSION_FOLDER "/session", set() / "session", fs::copy_options::recursive);
    add_tool("nvidia-smi", "[ \"$1\" = -L ] && echo 'GPU 0: stand-in' || echo 'stand-in, 1.2'");
    add_tool("compute-sanitizer", "exit 1");
    for (const char* program : {"ladder", "device_bench", "train_gpt_single"}) add_program(program, "exit 0");
    add_program("ceilings", R"(echo '{"ceiling": "copy", "gb_s": 3000}')");
    for (const char* library : {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libnccl.so.2"})
      lockstep::write_file(make(libraries()) / library, "");
  }

  static void add_script(const fs::path& path, const std::string& body) {
    lockstep::write_file(path, "#!/bin/sh\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  void add_tool(const std::string& name, const std::string& body) { add_script(make(tools()) / name, body); }
  void add_program(const std::string& name, const std::string& body) { add_script(make(set() / "bin") / name, body); }
  // A test program of phase A. Each start of it is counted.
  void add_test(const std::string& name, const std::string& body) {
    const fs::path list = set() / "gpu_tests.txt";
    const std::string listed = fs::exists(list) ? lockstep::read_file(list) : "";
    lockstep::write_file(list, listed + name + "\n");
    const std::string counted = "case $* in *--list*) exit 0;; esac; echo >>" + starts(name).string() + "\n";
    add_script(make(set() / "tests") / name, counted + body);
  }
  [[nodiscard]] std::size_t count_starts(const std::string& name) const {
    return fs::exists(starts(name)) ? lockstep::read_file(starts(name)).size() : 0;
  }

  [[nodiscard]] lockstep::test::Subprocess start(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {"bash", (set() / "session.sh").string(), "--out", out().string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return lockstep::test::Subprocess(command, {{"PATH", path()},
                                                {"LD_LIBRARY_PATH", libraries().string()},
                                                {"TMPDIR", make(folder_ / "temporary").string()}});
  }
  [[nodiscard]] Finished run(const std::vector<std::string>& arguments) const { return start(arguments).wait(); }
  // As carry.sh packs them.
  void pack_programs() const {
    const std::string code =
        "import os, sys, tarfile, shutil; os.chdir(sys.argv[1]); open('CARRIED', 'w').close()\n"
        "with tarfile.open('programs.tar.xz', 'w:xz') as out:\n"
        "  for name in ('bin', 'tests', 'gpu_tests.txt', 'CARRIED'): out.add(name)\n"
        "for name in ('bin', 'tests'): shutil.rmtree(name)\n";
    REQUIRE(lockstep::test::run_program({"python3", "-c", code, set().string()}, {{"PATH", path()}}).exit_code == 0);
  }
  void truncate_programs() const { fs::resize_file(set() / "programs.tar.xz", 100); }
  [[nodiscard]] bool has_temporary_files() const { return !fs::is_empty(make(folder_ / "temporary")); }
  // results.json of a phase's archive.
  [[nodiscard]] std::string results(const std::string& phase) const {
    return lockstep::test::run_program({"tar", "-xzOf", archive(phase).string(), "results.json"}).out;
  }
  [[nodiscard]] fs::path archive(const std::string& phase) const { return out() / ("session_" + phase + ".tar.gz"); }
  [[nodiscard]] bool has_python() const {
    return lockstep::test::run_program({"sh", "-c", "command -v python3"}, {{"PATH", path()}}).exit_code == 0;
  }
  // Skips the test on a machine without it.
  void require_python() const {
    if (!has_python()) lockstep::test::skip("there is no python3");
  }

  [[nodiscard]] fs::path tools() const { return folder_ / "tools"; }
  [[nodiscard]] fs::path libraries() const { return folder_ / "libraries"; }

 private:
  static fs::path make(const fs::path& folder) {
    fs::create_directories(folder);
    return folder;
  }
  [[nodiscard]] fs::path set() const { return make(folder_ / "set"); }
  [[nodiscard]] fs::path out() const { return folder_ / "out"; }
  [[nodiscard]] fs::path starts(const std::string& name) const { return folder_ / ("starts_of_" + name); }
  [[nodiscard]] std::string path() const { return tools().string() + ":/usr/local/bin:/usr/bin:/bin"; }

  lockstep::test::TemporaryFolder folder_;
};

constexpr const char* kTwoCasesPass = "echo 'All tests passed (3 assertions in 2 test cases)'";
constexpr const char* kOneOfTwoIsSkipped =
    "echo 'skipped: fewer than 2 devices'; echo 'All tests passed (3 assertions in 2 test cases)'; "
    "echo 'skipped: 1 of 2 test cases'";
constexpr const char* kAllAreSkipped =
    "echo 'skipped: fewer than 8 devices'; echo 'test cases: 2 | 2 passed'; echo 'skipped: 2 of 2 test cases'; exit 77";
constexpr const char* kNoDevice = "device cuda:0: this machine has no NVIDIA\n  GPU with a driver";

std::string test_that_fails(const std::string& message) {
  return "echo '" + message + "'; echo 'test cases: 1 | 1 failed'; exit 1";
}

}  // namespace

TEST_CASE("without a GPU the session says so in one line and counts as skipped", "[gpu]") {
  Machine machine;
  if (!machine.has_python()) {  // no dependency of the course
    CHECK_THAT(machine.run({"A"}).err, ContainsSubstring("session.sh: python3 is needed"));
    lockstep::test::skip("there is no python3");
  }
  machine.add_tool("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9");
  const Finished finished = machine.run({"A"});
  CHECK(finished.exit_code == 77);
  CHECK(finished.out.empty());
  CHECK(finished.err ==
        "session.sh: no NVIDIA GPU is visible here (nvidia-smi -L lists none), so nothing was run on hardware\n");
}

TEST_CASE("a wrong option of the session ends with 2 and says what there is", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"A", "--budget", "soon"}, {"F"}, {}, {"A", "--fast"}, {"A", "--only", "probe"}}) {
    const Finished finished = machine.run(arguments);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring("session.sh: "));
  }
}

TEST_CASE("a machine without NVIDIA's libraries is told which, and where they were looked for", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  fs::remove(machine.libraries() / "libcublas.so.13");
  const Finished finished = machine.run({"A", "--only", "good_test"});
  if (finished.exit_code == 0) lockstep::test::skip("this machine has a toolkit with the library");
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, ContainsSubstring("libcublas.so.13 not found"));
  CHECK_THAT(finished.err, ContainsSubstring(machine.libraries().string()));
}

TEST_CASE("a step that hangs or skips costs itself, cases are counted, and what passed is not done again", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("hanging_kernels_test", "sleep 1000");
  machine.add_test("skipping_test", "exit 77");
  machine.add_test("good_test", kTwoCasesPass);
  const Finished finished = machine.run({"A", "--budget", "30"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.out, ContainsSubstring("2 test cases passed"));
  const std::string results = machine.results("A");
  CHECK_THAT(results, ContainsSubstring("\"gb_s\": 3000"));
  for (const char* verdict : {R"("name": "ceilings",
   "verdict": "passed")",
                              R"("name": "hanging_kernels_test",
   "verdict": "out of time")",
                              R"("name": "skipping_test",
   "verdict": "failed")",
                              R"("name": "good_test",
   "verdict": "passed")"}) {
    CHECK_THAT(results, ContainsSubstring(verdict));
  }
  CHECK(machine.count_starts("good_test") == 1);
  CHECK(machine.count_starts("skipping_test") == 1);
  CHECK(machine.run({"A", "--only", "good_test,skipping_test"}).exit_code == 1);
  CHECK(machine.count_starts("good_test") == 1);
  CHECK(machine.count_starts("skipping_test") == 2);
  CHECK(machine.run({"A", "--only", "good_test", "--again"}).exit_code == 0);
  CHECK(machine.count_starts("good_test") == 2);
}

TEST_CASE("results of one GPU are not continued on another", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  CHECK(machine.run({"A", "--only", "machine"}).exit_code == 0);
  CHECK(machine.run({"A", "--only", "ceilings"}).exit_code == 0);
  machine.add_tool("nvidia-smi", "[ \"$1\" = -L ] && echo 'GPU 0: other (UUID: GPU-1)' || echo 'other, 1.2'");
  const Finished finished = machine.run({"A", "--only", "ceilings"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("has results of stand-in, and this machine has other"));
  CHECK(machine.run({"A", "--only", "machine", "--again"}).exit_code == 0);
}

TEST_CASE("Ctrl-C ends the session with what its steps have started", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("slow_kernels_test", "echo started $$; exec sleep 1000");
  lockstep::test::Subprocess session = machine.start({"A", "--only", "slow_kernels_test"});
  REQUIRE(session.wait_for_output("session.sh: slow_kernels_test"));
  session.send_signal(SIGINT);
  CHECK(session.wait().exit_code == 128 + SIGINT);
  CHECK_THAT(machine.results("A"), ContainsSubstring("the session was ended from outside"));
}

// The first row is saved at once, and with it what the log holds so far, cut.
TEST_CASE("no result is lost in a long log", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  machine.add_program("ceilings",
                      "head -c 4000000 /dev/zero | tr '\\0' 'x'; echo; echo '{\"row\": 1}'\n"
                      "until [ -e '" +
                          machine.archive("A").string() + "' ]; do sleep 0.02; done; echo '{\"row\": 2}'");
  CHECK(machine.run({"A", "--only", "ceilings"}).exit_code == 0);
  CHECK_THAT(machine.results("A"), ContainsSubstring("\"row\": 1") && ContainsSubstring("\"row\": 2"));
}

TEST_CASE("a step whose program measures nothing has not passed", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_program("ceilings", "echo 'copy: 3000 GB/s'");
  CHECK(machine.run({"B", "--only", "ceilings"}).exit_code == 1);
  CHECK_THAT(machine.results("B"), ContainsSubstring("no times were found in the output"));
  CHECK(machine.run({"B", "--only", "operations"}).exit_code == 1);  // device_bench prints nothing
  CHECK(machine.run({"B", "--only", "ladder_reduction"}).exit_code == 1);
}

TEST_CASE("skipped cases and steps are counted as skipped, and never as passed", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  machine.add_test("one_gpu_test", kOneOfTwoIsSkipped);
  machine.add_test("eight_gpus_test", kAllAreSkipped);
  const Finished finished = machine.run({"A", "--only", "good_test,one_gpu_test,eight_gpus_test"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 3);
  CHECK_THAT(finished.out, ContainsSubstring("1 cases passed, 0 failed, 1 skipped"));
  CHECK_THAT(finished.out, ContainsSubstring("all of its 2 cases: fewer than 8 devices"));
  CHECK_THAT(finished.out, ContainsSubstring("3 test cases passed in 3 steps; 0 steps failed, 1 were skipped"));
  CHECK(machine.run({"A", "--only", "eight_gpus_test", "--again"}).exit_code == 77);
}

TEST_CASE("the plan has each step once, in calls that fit into a loan", "[gpu]") {
  Machine machine;
  machine.require_python();
  for (const char* test : {"some_kernels_test", "device_test", "nn_test"}) machine.add_test(test, kTwoCasesPass);
  const Finished finished = machine.run({"plan"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  std::istringstream lines(finished.out);
  std::set<std::string> steps;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, name;
    int seconds = 0;
    words >> first >> name >> seconds;
    if (first == "call") continue;
    INFO(line);
    CHECK(steps.insert(name).second);
    CHECK(std::stoi(first) + seconds <= 540);
  }
  for (const char* step :
       {"machine", "some_kernels_test", "device_test", "ceilings", "operations", "lockstep_bf16_32", "pytorch_bf16_32",
        "ladder_reduction", "algorithms_bf16_64", "ncu", "memcheck", "planted", "collective_faults_test"})
    CHECK(steps.contains(step));
}

TEST_CASE("the whole session goes on where its budget ended", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("slow_kernels_test", "mkdir \"$TMPDIR/slept\" && sleep 60; " + std::string(kTwoCasesPass));
  machine.add_test("good_test", kTwoCasesPass);
  machine.add_test("nn_test", kTwoCasesPass);
  CHECK(machine.run({"all", "--budget", "20"}).exit_code == 1);
  CHECK(machine.count_starts("good_test") == 1);  // beside the slow one
  CHECK_THAT(machine.results("all"), ContainsSubstring("out of time"));
  CHECK(machine.run({"all", "--only", "slow_kernels_test,good_test,nn_test", "--budget", "60"}).exit_code == 0);
  CHECK(machine.count_starts("slow_kernels_test") == 2);
  CHECK(machine.count_starts("good_test") == 1);
}

TEST_CASE("carry.sh removes no folder that it has not made", "[gpu]") {
  const lockstep::test::TemporaryFolder folder;
  lockstep::write_file(folder / "thesis.tex", "");
  const Finished carry =
      lockstep::test::run_program({"bash", LOCKSTEP_SESSION_FOLDER "/carry.sh", "--out", folder.path().string()});
  CHECK(carry.exit_code == 2);
  CHECK_THAT(carry.err, ContainsSubstring(folder.path().string() + " has other files in it"));
  CHECK(fs::exists(folder / "thesis.tex"));
}

TEST_CASE("the session unpacks the programs that were carried", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  machine.pack_programs();
  for (const std::size_t round : {1, 2}) {
    const Finished finished = machine.run({"A", "--only", "good_test", "--again"});
    INFO(finished.out << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK(machine.count_starts("good_test") == round);
  }
}

TEST_CASE("programs that cannot be unpacked leave nothing behind", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_test("good_test", kTwoCasesPass);
  machine.pack_programs();
  machine.truncate_programs();
  const Finished finished = machine.run({"A", "--only", "good_test"});
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, ContainsSubstring("programs.tar.xz cannot be unpacked into"));
  CHECK_FALSE(machine.has_temporary_files());
}

TEST_CASE("a rehearsal passes where steps fail for want of a GPU, and of nothing else", "[gpu]") {
  Machine machine;
  machine.require_python();
  machine.add_tool("nvidia-smi", "exit 9");
  machine.add_test("ready_test", test_that_fails(kNoDevice));
  machine.add_test("broken_test", test_that_fails("cannot open shared object file"));
  CHECK(machine.run({"A", "--rehearse", "--only", "ready_test"}).exit_code == 0);
  CHECK_THAT(machine.results("A"), ContainsSubstring("reached the device"));
  CHECK(machine.run({"A", "--rehearse", "--only", "broken_test"}).exit_code == 1);

  machine.add_test("two_failures_test",
                   "echo '" + std::string(kNoDevice) + "'; echo 'test cases: 2 | 2 failed'; exit 1");
  CHECK(machine.run({"A", "--rehearse", "--only", "two_failures_test"}).exit_code == 1);
}
