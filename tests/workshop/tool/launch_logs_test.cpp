// Logs, events and preemption of `lockstep launch`, with shell scripts as ranks.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using test::Finished;

namespace {

std::vector<std::string> launch_of(std::vector<std::string> options, const std::string& script) {
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", "2"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"--", "sh", "-c", script});
  return command;
}

constexpr const char* kPrint = "echo out of $RANK; echo err of $RANK >&2";

// The folder of the only attempt of the only job.
fs::path attempt_in(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) return entry.path() / "attempt_0";
  }
  return {};
}

std::vector<nlohmann::json> events_in(const fs::path& file) {
  std::vector<nlohmann::json> events;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

std::size_t count(const std::vector<nlohmann::json>& events, const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const auto& event) { return event.at("event") == name; }));
}

}  // namespace

TEST_CASE("launch --log-dir keeps what each rank prints, and still shows it", "[tool][multirank]") {
  const test::TemporaryFolder folder;
  const Finished job = test::run_program(launch_of({"--log-dir", folder.path().string()}, kPrint));
  CHECK(job.exit_code == 0);
  const fs::path attempt = attempt_in(folder.path());
  for (const std::string rank : {"0", "1"}) {
    CHECK(read_file(attempt / rank / "stdout.log") == "out of " + rank + "\n");
    CHECK(read_file(attempt / rank / "stderr.log") == "err of " + rank + "\n");
    CHECK_THAT(job.out, ContainsSubstring("[rank " + rank + "] out of " + rank + "\n"));
    CHECK_THAT(job.err, ContainsSubstring("[rank " + rank + "] err of " + rank + "\n"));
  }
}

TEST_CASE("launch --redirects writes streams to files only, and a failure still shows its last lines",
          "[tool][multirank]") {
  const test::TemporaryFolder folder;
  const Finished job = test::run_program(launch_of({"--log-dir", folder.path().string(), "-r", "3", "--tee", "0:1"},
                                                   std::string(kPrint) + "; exit $RANK"));
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.out, ContainsSubstring("[rank 0] out of 0") && !ContainsSubstring("out of 1"));
  CHECK_THAT(job.err, !ContainsSubstring("[rank 0] err") && !ContainsSubstring("[rank 1] err"));
  CHECK_THAT(job.err, ContainsSubstring("  | out of 1\n") && ContainsSubstring("  | err of 1\n"));
  CHECK(read_file(attempt_in(folder.path()) / "1" / "stdout.log") == "out of 1\n");
}

TEST_CASE("launch --log-dir and --events tell a program what happened", "[tool][multirank]") {
  const test::TemporaryFolder folder;
  const std::string own_file = (folder / "own.jsonl").string();
  const bool has_own_file = GENERATE(false, true);
  std::vector<std::string> options{"--log-dir", folder.path().string()};
  if (has_own_file) options = {"--events", own_file};
  const Finished job = test::run_program(launch_of(options, "[ $RANK = 0 ] && exec sleep 30; kill -KILL $$"));
  CHECK(job.exit_code == 128 + SIGKILL);
  const auto events = events_in(has_own_file ? fs::path(own_file) : folder / "events.jsonl");
  CHECK(count(events, "start") == 1);
  CHECK(count(events, "rank_started") == 2);
  CHECK(count(events, "rank_ended") == 2);
  CHECK(count(events, "failure") == 1);
  REQUIRE(count(events, "end") == 1);
  CHECK(events.front().at("event") == "start");
  CHECK(events.back().at("code") == 128 + SIGKILL);
  for (const auto& event : events) {
    if (event.at("event") == "failure") CHECK(event.at("rank") == 1);
    if (event.at("event") == "rank_ended") CHECK(event.at("signal") == (event.at("rank") == 1 ? "SIGKILL" : "SIGTERM"));
  }
}

TEST_CASE("wrong options for logs are answered with what would be right", "[tool]") {
  const Finished lonely = test::run_program(launch_of({"--tee", "3"}, "true"));
  CHECK(lonely.exit_code == 2);
  CHECK_THAT(lonely.err, ContainsSubstring("--tee writes files: give --log-dir"));
  const Finished wrong = test::run_program(launch_of({"--log-dir", "/nowhere", "--redirects", "7"}, "true"));
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("--redirects 7") && ContainsSubstring("0:3,1:2"));
  const Finished signal = test::run_program(launch_of({"--preempt-signal", "SIGKILL"}, "true"));
  CHECK(signal.exit_code == 2);
  CHECK_THAT(signal.err, ContainsSubstring("--preempt-signal SIGKILL") && ContainsSubstring("SIGUSR2"));
}

TEST_CASE("a job whose ranks save when asked ends with the code that requeues", "[tool][multirank]") {
  const test::TemporaryFolder folder;
  const std::string events = (folder / "events.jsonl").string();
  const int signal = GENERATE(SIGTERM, SIGUSR2);
  test::Subprocess job(launch_of({"--preempt-signal", "USR2", "--events", events},
                                 "trap 'echo saved; exit 75' TERM; echo ready $LOCKSTEP_PREEMPT_SIGNAL; "
                                 "while :; do sleep 0.02; done"));
  for (const std::string rank : {"0", "1"})
    REQUIRE(job.wait_for_output("[rank " + rank + "] ready " + std::to_string(SIGUSR2)));
  job.send_signal(signal);
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 75);
  CHECK_THAT(finished.out, ContainsSubstring("[rank 0] saved") && ContainsSubstring("[rank 1] saved"));
  CHECK_THAT(finished.err, ContainsSubstring("all ranks have stopped in good order; exit code 75") &&
                               !ContainsSubstring("first failure"));
  const auto said = events_in(events);
  CHECK(count(said, "preempted") == 1);
  CHECK(count(said, "failure") == 0);
  CHECK(said.back().at("code") == 75);
}

TEST_CASE("ranks that are asked to stop without the launcher are no failure", "[tool][multirank]") {
  const Finished all = test::run_program(launch_of({}, "exit 75"));
  CHECK(all.exit_code == 75);
  CHECK_THAT(all.err, ContainsSubstring("all ranks have stopped in good order") && !ContainsSubstring("first failure"));
  const Finished one =
      test::run_program(launch_of({}, "trap 'exit 75' TERM; [ $RANK = 1 ] && exit 75; while :; do sleep 0.02; done"));
  CHECK(one.exit_code == 75);
  CHECK_THAT(one.err, ContainsSubstring("rank 1 was asked to stop and has saved"));
}

TEST_CASE("a rank that fails while the others save is the job's failure", "[tool][multirank]") {
  const Finished job = test::run_program(launch_of({}, "[ $RANK = 1 ] && exit 75; sleep 0.1; echo disk full; exit 3"));
  CHECK(job.exit_code == 3);
  CHECK_THAT(job.err,
             ContainsSubstring("first failure: rank 0 exited with code 3") && ContainsSubstring("  | disk full"));
}

TEST_CASE("Ctrl-C, and ranks that end otherwise, are no reason to start a job again", "[tool][multirank]") {
  const bool is_interrupted = GENERATE(true, false);
  test::Subprocess job(launch_of({}, is_interrupted ? "trap 'exit 75' TERM; echo ready; while :; do sleep 0.02; done"
                                                    : "trap 'exit $((75 * RANK))' TERM; echo ready; "
                                                      "while :; do sleep 0.02; done"));
  for (const std::string rank : {"0", "1"}) REQUIRE(job.wait_for_output("[rank " + rank + "] ready"));
  const int signal = is_interrupted ? SIGINT : SIGTERM;
  job.send_signal(signal);
  CHECK(job.wait().exit_code == 128 + signal);
}
