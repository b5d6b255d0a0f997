// Nothing is left of a job when those who watch it are killed, stopped or asked to end. A few trials each, or as
// many as LOCKSTEP_FAULT_TRIALS says; then a summary is printed too: LOCKSTEP_FAULT_TRIALS=100 launch_test '[watchers]'
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/processes.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::Finished;
using test::Subprocess;

namespace {

constexpr const char* kReaper = "lockstep_reaper";
constexpr const char* kGuardian = "lockstep_guard";
constexpr const char* kLauncher = "launcher";
constexpr int kLongestStartMs = 30;  // in which a job of the helper starts if the machine does nothing else

int trials() { return static_cast<int>(environment::get_int("LOCKSTEP_FAULT_TRIALS", 1, 100000).value_or(2)); }

/// A job of launch_helper's whose processes carry a mark, whatever becomes of their parents.
class Job {
 public:
  explicit Job(std::vector<std::string> task, std::vector<std::string> before = {})
      : mark_(concat("LOCKSTEP_TEST_MARK=", getpid(), ".", ++count_)), process_(command(task, before), {variable()}) {}

  [[nodiscard]] Subprocess& process() { return process_; }

  [[nodiscard]] bool is_ready() {
    return process_.wait_for_output("[rank 0] ready") && process_.wait_for_output("[rank 1] ready");
  }

  /// The launcher, the reaper or the guardian; -1 if it does not run (yet).
  [[nodiscard]] pid_t find(const std::string& name) const {
    if (name == kLauncher) return process_.pid();
    const std::vector<pid_t> all = descendants_of(process_.pid());
    const auto found = std::ranges::find(all, name, &name_of_process);
    return found == all.end() ? -1 : *found;
  }

  [[nodiscard]] std::vector<pid_t> ranks() const {
    std::vector<pid_t> pids = descendants_of(process_.pid());
    std::erase_if(pids, [](pid_t pid) { return name_of_process(pid) != "launch_helper"; });
    return pids;
  }

  /// The running processes of the job, including the launcher.
  [[nodiscard]] std::vector<pid_t> everything() const { return processes_with(mark_); }

  /// The processes of the job that are left after a while; killed before this returns.
  [[nodiscard]] std::vector<pid_t> left() const {
    const Deadline deadline = Deadline::after(20s);
    std::vector<pid_t> pids = everything();
    for (; !pids.empty() && !deadline.has_expired(); pids = everything()) std::this_thread::sleep_for(2ms);
    for (const pid_t pid : pids) test::signal_process(pid, SIGKILL);
    return pids;
  }

 private:
  static std::vector<std::string> command(const std::vector<std::string>& task, std::vector<std::string> before) {
    before.push_back(test::built_program("launch_helper"));
    before.push_back("2");
    before.insert(before.end(), task.begin(), task.end());
    return before;
  }
  [[nodiscard]] std::pair<std::string, std::string> variable() const {
    const std::size_t equals = mark_.find('=');
    return {mark_.substr(0, equals), mark_.substr(equals + 1)};
  }

  inline static int count_ = 0;
  std::string mark_;
  Subprocess process_;
};

void summarize(const std::string& what) {
  if (trials() > 10) std::cout << trials() << " trials: " << what << std::endl;
}

std::string kill_and_look(const std::vector<std::string>& victims, bool is_early, std::mt19937& random) {
  Job job({random() % 2 == 0 ? "family" : "shell"});
  if (is_early)
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (1000 * kLongestStartMs)));
  else if (!job.is_ready())
    return "the job did not start";
  std::vector<pid_t> pids;
  for (const std::string& victim : victims) pids.push_back(job.find(victim));
  for (const pid_t pid : pids) {
    if (pid > 0) test::signal_process(pid, SIGKILL);
  }
  const bool are_all_found = std::ranges::find(pids, -1) == pids.end();
  if (!is_early && !are_all_found) return "a victim is not to be found";
  if (!are_all_found) job.process().send_signal(SIGKILL);  // too early for the others: the launcher goes with them
  const std::size_t left = job.left().size();
  return left == 0 ? "" : concat(left, " processes are left");
}

}  // namespace

TEST_CASE("whichever of launcher, reaper and guardian are killed, no process of the job is left",
          "[launch][multirank][watchers]") {
  const std::vector<std::string> victims = GENERATE(values<std::vector<std::string>>({{kLauncher},
                                                                                      {kReaper},
                                                                                      {kGuardian},
                                                                                      {kLauncher, kReaper},
                                                                                      {kReaper, kLauncher},
                                                                                      {kLauncher, kGuardian},
                                                                                      {kReaper, kGuardian}}));
  std::string names = victims.front() + (victims.size() > 1 ? " and " + victims.back() : "");
  CAPTURE(names);
  std::mt19937 random(20261122U);
  for (int trial = 0; trial < trials(); ++trial) {
    const bool is_early = trial % 2 == 1;
    CAPTURE(trial, is_early);
    CHECK(kill_and_look(victims, is_early, random) == "");
  }
  summarize("SIGKILL of " + names + " leaves nothing");
}

TEST_CASE("a launcher whose reaper or guardian is killed says so and fails", "[launch][multirank][watchers]") {
  const std::string victim = GENERATE(kReaper, kGuardian);
  Job job({"family"});
  REQUIRE(job.is_ready());
  test::signal_process(job.find(victim), SIGKILL);
  const Finished finished = job.process().wait(10s);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, ContainsSubstring("lockstep_reaper) was killed, and the ranks with it"));
  CHECK_THAT(finished.err, !ContainsSubstring("memory"));
  CHECK(job.left().empty());
}

TEST_CASE("SIGTERM to reaper or guardian gives ranks their time, with one SIGTERM each",
          "[launch][multirank][watchers]") {
  const std::string victim = GENERATE(kReaper, kGuardian);
  for (int trial = 0; trial < trials(); ++trial) {
    Job job({"orderly", "50"});
    REQUIRE(job.is_ready());
    test::signal_process(job.find(victim), SIGTERM);
    const Finished finished = job.process().wait(10s);
    CHECK(finished.exit_code == 128 + SIGTERM);
    for (const char* rank : {"[rank 0]", "[rank 1]"})
      CHECK_THAT(finished.out, ContainsSubstring(rank + std::string(" ended after SIGTERM x 1")));
    CHECK_THAT(finished.err,
               ContainsSubstring("SIGTERM to lockstep_reaper: ending all ranks") && !ContainsSubstring("was killed"));
    CHECK(job.left().empty());
  }
  summarize("SIGTERM to " + victim + " ends the ranks in good order");
}

TEST_CASE("a signal to every process of the job, in any order, gives ranks their time",
          "[launch][multirank][watchers]") {
  std::mt19937 random(20261122U);
  for (int trial = 0; trial < trials(); ++trial) {
    const bool is_orderly = trial % 2 == 0;  // else SIGTERM ends the ranks
    Job job(is_orderly ? std::vector<std::string>{"orderly", "50", "nohup"} : std::vector<std::string>{"family"});
    REQUIRE(job.is_ready());
    std::vector<pid_t> all = job.everything();
    CHECK(all.size() >= 5);  // launcher, guardian, reaper, two ranks
    std::ranges::shuffle(all, random);
    for (const pid_t pid : all) test::signal_process(pid, SIGTERM);
    for (const pid_t pid : all) test::signal_process(pid, SIGHUP);  // as systemd's SendSIGHUP
    const Finished finished = job.process().wait(10s);
    CHECK((finished.exit_code == 128 + SIGTERM || finished.exit_code == 128 + SIGHUP));
    CHECK_THAT(finished.err, !ContainsSubstring("memory") && !ContainsSubstring("first failure") &&
                                 !ContainsSubstring("killing all"));
    if (is_orderly)
      CHECK_THAT(finished.out, ContainsSubstring("[rank 0] ended after") && ContainsSubstring("[rank 1] ended after"));
    CHECK(job.left().empty());
  }
  summarize("SIGTERM and SIGHUP to every process are no failure of a rank");
}

TEST_CASE("under nohup a job survives the end of its terminal", "[launch][multirank][watchers]") {
  for (int trial = 0; trial < trials(); ++trial) {
    Job job({"orderly", "1"}, {"nohup"});
    REQUIRE(job.is_ready());
    for (const pid_t pid : job.everything()) test::signal_process(pid, SIGHUP);
    job.process().send_signal(SIGUSR1);
    CHECK(job.process().wait_for_output("SIGUSR1: no rank has entered"));
    job.process().send_signal(SIGTERM);
    const Finished finished = job.process().wait(10s);
    CHECK(finished.exit_code == 128 + SIGTERM);
    CHECK_THAT(finished.err, !ContainsSubstring("SIGHUP"));
    CHECK_THAT(finished.out, ContainsSubstring("[rank 0] ended") && ContainsSubstring("[rank 1] ended"));
  }
  summarize("nohup keeps SIGHUP from launcher, watchers and ranks");
}

TEST_CASE("a stopped reaper or guardian is continued, whatever happens to the job meanwhile",
          "[launch][multirank][watchers]") {
  const std::string victim = GENERATE(kReaper, kGuardian);
  const std::string event = GENERATE("a rank is killed", "Ctrl-C", "the ranks end");
  for (int trial = 0; trial < trials(); ++trial) {
    CAPTURE(victim, event, trial);
    Job job({"orderly", "1"});
    REQUIRE(job.is_ready());
    const std::vector<pid_t> ranks = job.ranks();
    REQUIRE(ranks.size() == 2);
    test::signal_process(job.find(victim), SIGSTOP);
    std::this_thread::sleep_for(10ms);
    if (event == "a rank is killed") test::signal_process(ranks.back(), SIGKILL);
    if (event == "Ctrl-C") job.process().send_signal(SIGINT);
    if (event == "the ranks end") {
      for (const pid_t pid : ranks) test::signal_process(pid, SIGTERM);
    }
    const Finished finished = job.process().wait(10s);
    CHECK(finished.exit_code == (event == "the ranks end" ? 0 : event == "Ctrl-C" ? 128 + SIGINT : 128 + SIGKILL));
    CHECK(job.left().empty());
  }
  summarize("with " + victim + " stopped, " + event);
}

TEST_CASE("what cannot be killed is named, and the launcher ends without it", "[launch][multirank][watchers]") {
  if (geteuid() != 0) test::skip("only root can make a process that the user of a job may not kill");
  const test::TemporaryFolder folder;  // open to another user, with programs that this user can run
  namespace fs = std::filesystem;
  fs::permissions(folder.path(), fs::perms::all);
  for (const std::string name : {"launch_helper", "lockstep_reaper"})
    fs::copy_file(test::built_program(name), folder / name);
  // With the library that they load: the build may lie where only root can read.
  fs::copy(fs::path(test::built_program("lockstep_reaper")).parent_path().parent_path() / "lib", folder.path());
  fs::copy_file(test::built_program("launch_helper"), folder / "roots_own");
  REQUIRE(chmod((folder / "roots_own").c_str(), 04755) == 0);
  Subprocess job({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", (folder / "launch_helper").string(),
                  "1", "execute", (folder / "roots_own").string(), "1", "unkillable"},
                 {{"LOCKSTEP_GRACE_SECONDS", "0.1"},
                  {"LOCKSTEP_STATE_DIR", (folder / "state").string()},
                  {"LD_LIBRARY_PATH", folder.path().string()}});
  REQUIRE(job.wait_for_output("ready"));
  const std::vector<pid_t> family = descendants_of(job.pid());
  job.send_signal(SIGTERM);
  const bool is_impatient = GENERATE(false, true);
  if (is_impatient) {
    for (int i = 0; i < 6; ++i) {
      std::this_thread::sleep_for(300ms);
      job.send_signal(SIGINT);
    }
  }
  const Deadline begin = Deadline::never();
  const Finished finished = job.wait(15s);
  CHECK(finished.exit_code == 128 + SIGTERM);
  CHECK_THAT(finished.err, ContainsSubstring("not everything has ended") && ContainsSubstring("roots_own (process "));
  if (is_impatient) CHECK(begin.waited() < 4s);
  CHECK(test::wait_until_gone(family, 0ms).size() >= 2);  // the guardian stays for it
  for (const pid_t pid : family) {
    if (name_of_process(pid) == "roots_own") test::signal_process(pid, SIGKILL);
  }
  CHECK(test::wait_until_gone(family).empty());
}
