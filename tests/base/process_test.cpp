#include "base/process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "base/addresses.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/processes.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using Catch::Matchers::ContainsSubstring;

namespace {

ProcessStart shell(const std::string& script) {
  return {.command = {"sh", "-c", script}, .empty_streams = {STDIN_FILENO}};
}

// The numbers of descriptors that a program started like this has, without the one by which `ls` reads the folder.
std::set<int> descriptors_of(ProcessStart start) {
  start.command = {"ls", "/proc/self/fd"};
  start.empty_streams.push_back(STDIN_FILENO);
  std::istringstream printed(run_process(std::move(start), Collect::kOutput).output);
  std::set<int> numbers;
  for (int number = 0; printed >> number;) numbers.insert(number);
  REQUIRE_FALSE(numbers.empty());
  return numbers;
}

}  // namespace

TEST_CASE("a program's output, its errors and its exit code arrive", "[process]") {
  const std::string script = "echo out; echo err >&2; exit 7";
  const FinishedProcess separate = run_process(shell(script), Collect::kSeparate);
  CHECK(separate.exit_code == 7);
  CHECK(separate.output == "out\n");
  CHECK(separate.errors == "err\n");
  CHECK(run_process(shell(script), Collect::kBoth).output == "out\nerr\n");
  CHECK(run_process(shell(script), Collect::kErrors).errors == "err\n");
  CHECK(run_process(shell("kill -9 $$"), Collect::kNothing).exit_code == 128 + SIGKILL);
}

TEST_CASE("a program that does not exist, and a folder that does not, are errors", "[process]") {
  CHECK_THROWS_WITH(start_process({.command = {"no_such_program_here"}}),
                    ContainsSubstring("cannot start no_such_program_here"));
  CHECK_THROWS_WITH(start_process({.command = {"true"}, .folder = "/no_such_folder"}),
                    ContainsSubstring("cannot start true in /no_such_folder"));
  CHECK_THROWS_AS(start_process({}), ContractError);
}

TEST_CASE("a program begins in its folder, with its environment and no other", "[process]") {
  const test::TemporaryFolder folder;
  ProcessStart start = shell("pwd; env | grep -c .; echo $COLOUR");
  start.folder = folder.path();
  start.environment = {"COLOUR=red"};
  const FinishedProcess finished = run_process(start, Collect::kOutput);
  // sh itself adds PWD, some shells also SHLVL and _.
  CHECK_THAT(finished.output, ContainsSubstring(folder.path().filename().string()));
  CHECK_THAT(finished.output, ContainsSubstring("red\n"));
  CHECK_THAT(run_process(shell("echo \"$HOME$PATH\""), Collect::kOutput).output, ContainsSubstring("/bin"));
}

TEST_CASE("a program gets the descriptors that it is given, by number, and no others", "[process]") {
  const test::TemporaryFolder folder;
  write_file(folder / "given", "given");
  const UniqueFd left_open(::open((folder / "given").c_str(), O_RDONLY));  // not closed on exec
  const UniqueFd high(::fcntl(left_open.get(), F_DUPFD, 700));             // neither
  const UniqueFd given(::open((folder / "given").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(high.get() >= 700);
  CHECK(descriptors_of({}) == std::set<int>{0, 1, 2, 3});
  // 5 and 9 are given, 3 is what ls has opened.
  CHECK(descriptors_of({.descriptors = {{9, given.get()}, {5, high.get()}}}) == std::set<int>{0, 1, 2, 3, 5, 9});
  // Numbers that are each other's sources here.
  ProcessStart crossed = shell("cat <&3; printf -; cat <&4");
  write_file(folder / "a", "a");
  write_file(folder / "b", "b");
  UniqueFd a(::open((folder / "a").c_str(), O_RDONLY | O_CLOEXEC));
  UniqueFd b(::open((folder / "b").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd at_3(::fcntl(a.get(), F_DUPFD_CLOEXEC, 3)), at_4(::fcntl(b.get(), F_DUPFD_CLOEXEC, 3));
  crossed.descriptors = {{3, at_4.get()}, {4, at_3.get()}};
  CHECK(run_process(crossed, Collect::kOutput).output == "b-a");
  CHECK(::fcntl(given.get(), F_GETFD) == FD_CLOEXEC);  // stays open here
}

TEST_CASE("a program that takes too long is killed, with its group", "[process]") {
  const std::string mark = concat("LOCKSTEP_PROCESS_TEST=", ::getpid());
  ProcessStart start = shell("sleep 60 & echo started; sleep 60");
  start.leads_group = true;
  start.environment = {mark, concat("PATH=", std::getenv("PATH"))};
  const FinishedProcess finished = run_process(start, Collect::kOutput, {.time = std::chrono::seconds(2)});
  CHECK(finished.is_out_of_time);
  CHECK(finished.exit_code == 128 + SIGKILL);
  CHECK(finished.output == "started\n");
  CHECK(kill_processes_with(mark, Deadline::after(std::chrono::seconds(20))).empty());
  CHECK(processes_with(mark).empty());
}

TEST_CASE("a program that writes without pause is cut off, and ends at its limit", "[process]") {
  const FinishedProcess finished = run_process({.command = {"yes"}, .empty_streams = {STDIN_FILENO}}, Collect::kOutput,
                                               {.time = std::chrono::seconds(1), .output_bytes = 1000});
  CHECK(finished.is_out_of_time);
  CHECK(finished.output.size() == 1000);
}

TEST_CASE("what a program leaves running with its output open is not waited for", "[process]") {
  const FinishedProcess finished = run_process(shell("sleep 30 & echo $!"), Collect::kOutput);
  CHECK(finished.exit_code == 0);
  ::kill(std::stoi(finished.output), SIGKILL);
}

TEST_CASE("signals are set back, unless they are to stay ignored", "[process]") {
  struct sigaction ignoring {
  }, before{};
  ignoring.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &ignoring, &before);
  const std::string script = "kill -USR1 $$; echo alive";
  ProcessStart start = shell(script);
  start.signals = InheritedSignals();
  CHECK(run_process(start, Collect::kOutput).exit_code == 128 + SIGUSR1);
  sigaddset(&start.signals->ignored, SIGUSR1);
  CHECK(run_process(start, Collect::kOutput).output == "alive\n");
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a process, its children and its threads are found", "[process]") {
  const pid_t pid = start_process(shell("sleep 60 & sleep 60"));
  const Deadline deadline = Deadline::after(std::chrono::seconds(10));
  while (children_of(pid).size() < 2 && !deadline.has_expired()) ::usleep(1000);
  CHECK(family_of(pid).size() == 3);
  CHECK(family_of(pid).front() == pid);
  CHECK(descendants_of(pid).size() == 2);
  CHECK(threads_of(pid).size() == 1);
  CHECK(read_process_state(pid).parent == ::getpid());
  for (const pid_t each : family_of(pid)) ::kill(each, SIGKILL);
  CHECK(wait_for_process(pid) == 128 + SIGKILL);
  CHECK(read_process_state(pid).state == 'X');
  CHECK(threads_of(pid).empty());
}

TEST_CASE("what addr2line prints becomes frames, address by address", "[process]") {
  const auto frames = parse_addr2line(
      "0x0000000000001139\ninner(int)\n/src/a.cpp:12 (discriminator 2)\nouter()\n/src/a.cpp:40\n"
      "0x0000000000002000\n??\n??:0\n0x0000000000003000\n??\n/src/b.cpp:?\n0x0000000000004000\n??\n/src/c.cpp:7\n");
  REQUIRE(frames.size() == 4);
  REQUIRE(frames[0].size() == 2);
  CHECK(frames[0][0].function == "inner(int)");
  CHECK(frames[0][0].file == "/src/a.cpp");
  CHECK(frames[0][0].line == 12);
  CHECK(frames[0][1].line == 40);
  CHECK(frames[1].empty());
  CHECK(frames[2].empty());
  REQUIRE(frames[3].size() == 1);
  CHECK(frames[3][0].function.empty());
  CHECK(parse_addr2line("").empty());
}
