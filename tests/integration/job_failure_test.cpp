// The behaviour of a job when a rank dies, falls silent, stays away or disagrees, and when a stranger knocks: with
// processes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/processes.hpp"
#include "base/unique_fd.hpp"
#include "launch/rank_environment.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using test::Finished;
using test::Subprocess;

namespace {

std::vector<std::string> job_of(int world_size, const std::string& task, int victim) {
  return {test::built_program("rank_helper"), std::to_string(world_size), task, std::to_string(victim)};
}

// The word that follows `before` in the text; empty if it is not there.
std::string word_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

// The line that a rank's process printed as its error.
std::string error_of_rank(const std::string& text, int rank) {
  const std::string prefix = "[rank " + std::to_string(rank) + "] rank_helper: ";
  const std::size_t at = text.find(prefix);
  return at == std::string::npos ? "" : text.substr(at + prefix.size(), text.find('\n', at) - at - prefix.size());
}

// Waits until all ranks have reduced once; the process id of `rank`.
pid_t wait_until_ready(Subprocess& job, int world_size, int rank) {
  for (int r = 0; r < world_size; ++r) {
    if (!job.wait_for_output("[rank " + std::to_string(r) + "] ready pid ")) return -1;
  }
  return std::stoi(word_after(job.out(), "[rank " + std::to_string(rank) + "] ready pid "));
}

}  // namespace

TEST_CASE("a rank killed in the middle is named by every other rank and by the launcher", "[integration][multirank]") {
  const int victim = GENERATE(0, 1);
  Subprocess job(job_of(3, "kill", victim));
  const pid_t pid = wait_until_ready(job, 3, victim);
  REQUIRE(pid > 0);
  const std::vector<pid_t> family = descendants_of(job.pid());
  test::signal_process(pid, SIGKILL);
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 128 + SIGKILL);
  CHECK_THAT(finished.err, ContainsSubstring("rank_helper: rank " + std::to_string(victim) + " was killed by SIGKILL"));
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == victim) continue;
    CHECK_THAT(error_of_rank(finished.err, rank), ContainsSubstring("rank " + std::to_string(victim)));
  }
  CHECK_THAT(finished.err, ContainsSubstring("the last collectives of each rank") && ContainsSubstring("all_reduce #"));
  CHECK(test::wait_until_gone(family).empty());
}

TEST_CASE("a rank that falls silent is named by the others", "[integration][multirank]") {
  // On a busy machine a healthy rank may get no processor for half a second: it must not count as silent.
  Subprocess job(job_of(3, "stop", 1), {{"LOCKSTEP_LIVENESS_SECONDS", "2"}});
  const pid_t pid = wait_until_ready(job, 3, 1);
  REQUIRE(pid > 0);
  const std::vector<pid_t> family = descendants_of(job.pid());
  test::signal_process(pid, SIGSTOP);
  const Finished finished = job.wait();
  CHECK(finished.exit_code != 0);
  CHECK_THAT(error_of_rank(finished.err, 0), ContainsSubstring("rank 1"));
  CHECK_THAT(error_of_rank(finished.err, 2), ContainsSubstring("rank 1"));
  CHECK(test::wait_until_gone(family).empty());
}

TEST_CASE("a rank that never comes is named, with those that did", "[integration][multirank]") {
  Subprocess job(job_of(3, "absent", 2), {{"LOCKSTEP_JOIN_SECONDS", "3"}});  // the others have come by then
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 1);
  for (const int rank : {0, 1}) CHECK_THAT(error_of_rank(finished.err, rank), ContainsSubstring("missing: 2"));
}

TEST_CASE("ranks that disagree on the collective are told what each was doing", "[integration][multirank]") {
  const Finished finished = test::run_program(job_of(3, "disagree", 1));
  CHECK(finished.exit_code == 1);
  for (const int rank : {0, 1, 2}) {
    CHECK_THAT(error_of_rank(finished.err, rank), ContainsSubstring("broadcast") && ContainsSubstring("all_reduce"));
  }
}

TEST_CASE("a stranger at the job's port changes nothing", "[integration][multirank]") {
  Subprocess job(job_of(2, "long", -1));  // it still runs when the strangers come
  REQUIRE(wait_until_ready(job, 2, 0) > 0);
  const std::string store = word_after(job.out(), " store 127.0.0.1:");
  REQUIRE_FALSE(store.empty());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(store)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 10; ++i) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(strangers.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    const std::string garbage(1000, static_cast<char>(i));
    CHECK(send(strangers.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL) > 0);
  }
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("[rank 0] finished") && ContainsSubstring("[rank 1] finished"));
}

TEST_CASE("two jobs at once do not meet", "[integration][multirank]") {
  Subprocess first(job_of(2, "finite", -1));
  Subprocess second(job_of(2, "finite", -1));
  CHECK(first.wait().exit_code == 0);
  CHECK(second.wait().exit_code == 0);
}

TEST_CASE("under LOCKSTEP_DEBUGGER=1 a stopped rank is waited for", "[integration][multirank]") {
  Subprocess job(
      job_of(2, "finite", -1),
      {{"LOCKSTEP_DEBUGGER", "1"}, {"LOCKSTEP_LIVENESS_SECONDS", "0.2"}, {"LOCKSTEP_PROGRESS_SECONDS", "0.2"}});
  const pid_t pid = wait_until_ready(job, 2, 1);
  REQUIRE(pid > 0);
  test::signal_process(pid, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  test::signal_process(pid, SIGCONT);
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("[rank 0] finished") && ContainsSubstring("[rank 1] finished"));
}

TEST_CASE("SIGUSR1 shows where one rank is, or all of them, and ends nothing", "[integration][multirank]") {
  Subprocess job(job_of(2, "kill", -1));
  const pid_t pid = wait_until_ready(job, 2, 1);
  REQUIRE(pid > 0);
  test::signal_process(pid, SIGUSR1);
  CHECK(job.wait_for_output("[rank 1] rank 1: SIGUSR1: all_reduce #"));
  test::signal_process(job.pid(), SIGUSR1);
  CHECK(job.wait_for_output("rank_helper: SIGUSR1: where the ranks are:"));
  job.send_signal(SIGTERM);
  const Finished finished = job.wait();
  CHECK(finished.exit_code == 128 + SIGTERM);
  const std::string shown = finished.err.substr(finished.err.find("SIGUSR1: where the ranks are:"));
  CHECK_THAT(shown,
             ContainsSubstring("  rank 0") && ContainsSubstring("  rank 1") && ContainsSubstring("all_reduce #"));
}

TEST_CASE("trace --last-failure shows the culprit first", "[integration][multirank]") {
  const test::TemporaryFolder state;
  Subprocess job(job_of(3, "kill", 1), {{"LOCKSTEP_STATE_DIR", state.path().string()}});
  const pid_t pid = wait_until_ready(job, 3, 1);
  REQUIRE(pid > 0);
  test::signal_process(pid, SIGKILL);
  (void)job.wait();
  const Finished shown = test::run_program({test::built_program("lockstep"), "trace", "--last-failure", "--count", "3"},
                                           {{"LOCKSTEP_STATE_DIR", state.path().string()}});
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.out, ContainsSubstring("first to end: rank 1 was killed by SIGKILL"));
  CHECK_THAT(shown.out, ContainsSubstring("rank 1 died: its control connection closed (told to ranks 0, 2)"));
  const std::size_t culprit = shown.out.find("  rank 1 (the culprit)");
  CHECK(culprit < shown.out.find("  rank 0"));
  CHECK(culprit < shown.out.find("  rank 2"));
}

TEST_CASE("trace --live finds ranks that another launcher has started, until they end",
          "[integration][multirank][07]") {
  const test::TemporaryFolder state;
  const launch::ReservedPort port;
  std::vector<std::unique_ptr<Subprocess>> ranks;
  for (const std::string rank : {"0", "1"}) {
    const std::vector<std::pair<std::string, std::string>> variables{{"RANK", rank},
                                                                     {"WORLD_SIZE", "2"},
                                                                     {"LOCAL_RANK", rank},
                                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                                     {"MASTER_PORT", std::to_string(port.number())},
                                                                     {"LOCKSTEP_FLIGHT_DIR", ""},
                                                                     {"LOCKSTEP_STORE", ""},
                                                                     {"LOCKSTEP_STATE_DIR", state.path().string()}};
    ranks.push_back(std::make_unique<Subprocess>(job_of(2, "endless", -1), variables));
  }
  for (const auto& rank : ranks) REQUIRE(rank->wait_for_output("ready pid "));
  const auto live = [&state] {
    return Subprocess({test::built_program("lockstep"), "trace", "--live", "--seconds", "0.3"},
                      {{"LOCKSTEP_STATE_DIR", state.path().string()}})
        .wait();
  };
  const Finished running = live();
  CAPTURE(running.out, running.err);
  CHECK(running.exit_code == 0);
  CHECK_THAT(running.out, ContainsSubstring("2 of 2 ranks are on this host") &&
                              ContainsSubstring("arrival at the last ") && ContainsSubstring("the job moves: "));
  for (const auto& rank : ranks) rank->send_signal(SIGKILL);
  for (const auto& rank : ranks) (void)rank->wait();
  const Finished ended = live();
  CHECK(ended.exit_code == 1);
  CHECK_THAT(ended.err, ContainsSubstring("set LOCKSTEP_FLIGHT_DIR for them, and name that folder here"));
}

// As on two hosts: each launcher sees its own rank only.
TEST_CASE("over several launchers the verdict names the rank at fault, though another one ended first",
          "[integration][multirank]") {
  const launch::ReservedPort port;
  const std::string token = launch::make_token();
  std::vector<std::unique_ptr<Subprocess>> launchers;
  for (const std::string node_rank : {"0", "1"}) {
    std::vector<std::string> command{test::built_program("lockstep"),
                                     "launch",
                                     "--nnodes",
                                     "2",
                                     "--node-rank",
                                     node_rank,
                                     "--rdzv-endpoint",
                                     "127.0.0.1:" + std::to_string(port.number()),
                                     "--nproc",
                                     "1",
                                     "--"};
    for (const std::string& word : job_of(2, "late", 1)) command.push_back(word);
    launchers.push_back(std::make_unique<Subprocess>(
        command, std::vector<std::pair<std::string, std::string>>{{"LOCKSTEP_TOKEN", token}}));
  }
  for (const auto& launcher : launchers) {
    const Finished finished = launcher->wait();
    CAPTURE(finished.out, finished.err);
    CHECK(finished.exit_code == 1);
    CHECK_THAT(finished.err, ContainsSubstring("first failure: rank 1 on host "));
    CHECK_THAT(finished.err, !ContainsSubstring("first failure: rank 0"));
  }
}
