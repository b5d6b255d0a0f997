#include "launch/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/processes.hpp"
#include "base/unique_fd.hpp"
#include "launch/grace.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::Finished;
using test::Subprocess;

namespace {

std::vector<std::string> helper(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), test::built_program("launch_helper"));
  return arguments;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the lines of each rank carry its number, on the stream they were written to", "[launch][multirank]") {
  const Finished job = test::run_program(helper({"3", "print"}));
  CHECK(job.exit_code == 0);
  for (const std::string rank : {"0", "1", "2"}) {
    CHECK_THAT(job.out, ContainsSubstring("[rank " + rank + "] out of " + rank + "\n[rank "));
    CHECK_THAT(job.out, ContainsSubstring("[rank " + rank + "] no end\n"));
    CHECK_THAT(job.err, ContainsSubstring("[rank " + rank + "] err of " + rank + "\n"));
  }
  CHECK(count(job.out, "\n") == 9);
  CHECK(count(job.err, "\n") == 3);
}

TEST_CASE("ranks that need more pipes than the usual number of open files are started", "[launch][multirank]") {
  std::string command = "ulimit -Sn 50; exec";
  for (const std::string& word : helper({"20", "variables", "RANK"})) command += " '" + word + "'";
  const Finished job = test::run_program({"sh", "-c", command});
  CHECK(job.exit_code == 0);
  CHECK(job.err.empty());
}

TEST_CASE("ranks find torchrun's variables and the project's own", "[launch][multirank]") {
  const Finished job = test::run_program(
      helper({"2", "variables", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
              "LOCKSTEP_STORE", "LOCKSTEP_TOKEN", "LOCKSTEP_GENERATION", "LOCKSTEP_FLIGHT_DIR", "OMP_NUM_THREADS"}));
  CHECK(job.exit_code == 0);
  for (const std::string rank : {"0", "1"}) {
    for (const std::string& line :
         {"RANK=" + rank, "LOCAL_RANK=" + rank, std::string("WORLD_SIZE=2"), std::string("LOCAL_WORLD_SIZE=2"),
          std::string("MASTER_ADDR=127.0.0.1"), std::string("LOCKSTEP_GENERATION=0")}) {
      CHECK_THAT(job.out, ContainsSubstring("[rank " + rank + "] " + line + "\n"));
    }
  }
  CHECK_THAT(job.out, !ContainsSubstring("(unset)"));
}

TEST_CASE("the first failure is named with exit code and last lines, and the others end", "[launch][multirank]") {
  const Finished job = test::run_program(helper({"4", "end", "2", "3"}));
  CHECK(job.exit_code == 3);
  CHECK_THAT(job.err, ContainsSubstring("launch_helper: rank 2 exited with code 3 "));
  CHECK_THAT(job.err, ContainsSubstring("ending the other ranks"));
  CHECK_THAT(job.err, ContainsSubstring("first failure: rank 2 exited with code 3; its last lines:\n"
                                        "  | cannot go on\n  | because of 3\n"));
  CHECK(count(job.err, "exited with") == 2);  // the ranks that were ended are no failures
}

TEST_CASE("a failure by signal is named, and the exit code is 128 + signal", "[launch][multirank]") {
  const Finished segfault = test::run_program(helper({"2", "raise", "1", std::to_string(SIGSEGV)}));
  CHECK(segfault.exit_code == 128 + SIGSEGV);
  CHECK_THAT(segfault.err, ContainsSubstring("rank 1 was killed by SIGSEGV (Segmentation fault)"));
  const Finished killed = test::run_program(helper({"2", "raise", "0", std::to_string(SIGKILL)}));
  CHECK(killed.exit_code == 128 + SIGKILL);
  CHECK_THAT(killed.err, ContainsSubstring("rank 0 was killed by SIGKILL"));
  CHECK_THAT(killed.err, ContainsSubstring("  | working\n"));
}

TEST_CASE("a rank that a signal to it alone ends is named with it, and so is what became of the others",
          "[launch][multirank]") {
  const Finished killed = test::run_program(helper({"2", "raise", "1", std::to_string(SIGINT)}));
  CHECK(killed.exit_code == 128 + SIGINT);
  CHECK_THAT(killed.err, ContainsSubstring("rank 1 was killed by SIGINT (from outside, sent to it alone)"));
  CHECK_THAT(killed.err, !ContainsSubstring("in good order"));
  const Finished handled = test::run_program(helper({"3", "execute", "sh", "-c", "[ $RANK != 1 ] || exit 130"}));
  CHECK(handled.exit_code == 130);
  CHECK_THAT(handled.err, ContainsSubstring("rank 1 exited with code 130 (interrupted from outside") &&
                              ContainsSubstring("launch_helper: the other ranks here have ended in good order\n"));
}

TEST_CASE("a rank that is killed is the culprit, though its peers ended before it did", "[launch][multirank]") {
  const Finished job = test::run_program(helper({"3", "late", "1"}));
  CHECK(job.exit_code == 128 + SIGKILL);
  CHECK_THAT(job.err, ContainsSubstring("first failure: rank 1 was killed by SIGKILL"));
  CHECK_THAT(job.err, ContainsSubstring("exited with code 1"));
}

TEST_CASE("a program that does not exist is the job's failure", "[launch]") {
  launch::JobOptions options;
  options.command = {"/nowhere/at-all"};
  options.world_size = 2;
  const launch::JobResult result = launch::run_job(options);
  CHECK(result.exit_code == 127);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->what == "could not be started: /nowhere/at-all: No such file or directory");
}

TEST_CASE("a job needs a command and a rank", "[launch]") {
  CHECK_THROWS_AS(launch::run_job({}), ContractError);
  launch::JobOptions options;
  options.command = {"true"};
  options.world_size = 0;
  CHECK_THROWS_AS(launch::run_job(options), ContractError);
}

TEST_CASE("Ctrl-C ends all ranks", "[launch][multirank]") {
  Subprocess job(helper({"3", "family"}));
  REQUIRE(job.wait_for_output("[rank 2] ready"));
  const std::vector<pid_t> family = descendants_of(job.pid());
  CHECK(family.size() >= 4);  // the reaper and three ranks
  job.send_signal(SIGINT);
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 128 + SIGINT);
  CHECK_THAT(finished.err, ContainsSubstring("SIGINT: ending all ranks"));
  CHECK(test::wait_until_gone(family).empty());
}

TEST_CASE("a rank that ignores SIGTERM is killed, at once when Ctrl-C comes twice", "[launch][multirank]") {
  const bool twice = GENERATE(false, true);
  Subprocess job(helper({"2", "stubborn"}), {{"LOCKSTEP_GRACE_SECONDS", twice ? "300" : "0.5"}});
  REQUIRE(job.wait_for_output("[rank 0] ready"));
  REQUIRE(job.wait_for_output("[rank 1] ready"));
  const std::vector<pid_t> family = descendants_of(job.pid());
  job.send_signal(SIGINT);
  REQUIRE(job.wait_for_output("ending all ranks"));
  if (twice) job.send_signal(SIGINT);
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 128 + SIGINT);
  CHECK((finished.err.find("killing all ranks") != std::string::npos) == twice);
  CHECK(test::wait_until_gone(family).empty());
}

TEST_CASE("nothing outlives a launcher that is killed", "[launch][multirank]") {
  for (int trial = 0; trial < 5; ++trial) {
    Subprocess job(helper({"3", "family"}));
    for (const std::string rank : {"0", "1", "2"}) REQUIRE(job.wait_for_output("[rank " + rank + "] ready"));
    const std::vector<pid_t> family = descendants_of(job.pid());
    CHECK(family.size() >= 4);
    job.send_signal(SIGKILL);
    CHECK(test::wait_until_gone(family).empty());
  }
}

TEST_CASE("a launcher killed while it starts leaves nothing behind", "[launch][multirank]") {
  for (int trial = 0; trial < 10; ++trial) {
    Subprocess job(helper({"3", "family"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(trial));
    std::vector<pid_t> family = descendants_of(job.pid());
    job.send_signal(SIGKILL);
    CHECK(test::wait_until_gone(family).empty());
  }
}

TEST_CASE("what ranks leave running ends with the job", "[launch][multirank]") {
  Subprocess job(helper({"2", "family", "end"}));
  CHECK(job.wait(10s).exit_code == 0);
}

TEST_CASE("a rank that was stopped is ended as well", "[launch][multirank]") {
  Subprocess job(helper({"2", "raise", "1", std::to_string(SIGSTOP)}));
  REQUIRE(job.wait_for_output("[rank 1] working"));
  const std::vector<pid_t> family = descendants_of(job.pid());
  job.send_signal(SIGTERM);
  CHECK(job.wait(10s).exit_code == 128 + SIGTERM);
  CHECK(test::wait_until_gone(family).empty());
}

TEST_CASE("a reader that does not read holds up neither the ranks nor the launcher", "[launch][multirank]") {
  const test::TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const UniqueFd reader(open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  std::vector<std::string> command = {"sh", "-c", "exec \"$@\" > " + pipe, "sh"};
  const std::vector<std::string> chatter = helper({"2", "chatter", "1024"});
  command.insert(command.end(), chatter.begin(), chatter.end());
  Subprocess job(command);
  CHECK(job.wait_for_output("[rank 0] wrote all"));
  job.send_signal(SIGUSR1);
  CHECK(job.wait_for_output("SIGUSR1: no rank has entered a collective yet"));
  job.send_signal(SIGINT);
  CHECK(job.wait(10s).exit_code == 128 + SIGINT);
}

namespace {

// A job of two ranks that print "out of R" and "err of R", with a shell's redirections of its own streams.
Finished print_with(const std::string& redirections) {
  const std::string helper_path = test::built_program("launch_helper");
  return test::run_program({"sh", "-c", concat("exec '", helper_path, "' 2 print ", redirections)});
}

}  // namespace

TEST_CASE("a full disk behind an output stream ends no job, and is said", "[launch][multirank]") {
  const Finished out = print_with("> /dev/full");
  CHECK(out.exit_code == 0);
  CHECK_THAT(out.err, ContainsSubstring("[rank 1] err of 1\n"));
  CHECK(count(out.err, "standard output cannot be written (No space left on device): the job goes on") == 1);
  const Finished err = print_with("2> /dev/full");
  CHECK(err.exit_code == 0);
  CHECK_THAT(err.out, ContainsSubstring("[rank 1] out of 1\n"));
  const test::TemporaryFolder folder;
  const std::string script = concat("ulimit -f 1; exec '", test::built_program("launch_helper"),
                                    "' 2 execute seq 1000 > '", (folder / "out").string(), "'");
  const Finished limited = test::run_program({"sh", "-c", script});
  CHECK(limited.exit_code == 0);
  CHECK(count(limited.err, "standard output cannot be written (File too large): the job goes on") == 1);
}

TEST_CASE("a reader of the output that has gone still ends the job", "[launch][multirank]") {
  const std::string script = concat("'", test::built_program("launch_helper"), "' 2 chatter 1000 | head -n 1");
  CHECK(test::run_program({"sh", "-c", script}).exit_code == 0);  // that of head: the job has ended
}

TEST_CASE("a launcher whose standard streams are closed runs its job", "[launch][multirank]") {
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    CAPTURE(closed);
    const Finished job = print_with(closed);
    CHECK(job.exit_code == 0);
    const std::string text = closed;
    CHECK(count(job.out, "out of 1\n") == (text.find(" >") == std::string::npos && text[0] != '>' ? 1 : 0));
    CHECK(count(job.err, "err of 1\n") == (text.find("2>") == std::string::npos ? 1 : 0));
  }
}

TEST_CASE("a launcher without /proc says so before it starts anything", "[launch]") {
  const std::vector<std::string> without_proc{"unshare", "-rm", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"",
                                              "sh"};
  std::vector<std::string> probe = without_proc, command = without_proc;
  probe.push_back("true");
  if (test::run_program(probe).exit_code != 0) test::skip("unshare -rm, or mounting there, does not work here");
  for (const std::string& word : helper({"2", "print"})) command.push_back(word);
  const Finished job = test::run_program(command);
  CHECK(job.exit_code != 0);
  CHECK_THAT(job.err, ContainsSubstring("mount -t proc proc /proc"));
  CHECK(job.out.empty());
}

TEST_CASE("the time from SIGTERM to SIGKILL comes from the environment, and is long enough for a checkpoint",
          "[launch]") {
  unsetenv("LOCKSTEP_GRACE_SECONDS");
  CHECK(launch::default_grace() == 30s);
  setenv("LOCKSTEP_GRACE_SECONDS", "0.25", 1);
  CHECK(launch::default_grace() == 250ms);
  setenv("LOCKSTEP_GRACE_SECONDS", "soon", 1);
  CHECK_THROWS_AS(launch::default_grace(), FormatError);
  unsetenv("LOCKSTEP_GRACE_SECONDS");
  for (const char* wrong : {"", "-1", "1e9", "nan", "1 s"}) CHECK_FALSE(launch::parse_grace(wrong).has_value());
}
