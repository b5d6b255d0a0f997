// `lockstep launch` on several hosts: they train as one host does, and what happens to one is known on all.
#include <signal.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/processes.hpp"
#include "hosts.hpp"
#include "net/token.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "two_hosts.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using test::Finished;
using test::Hosts;
using test::Subprocess;
using test::TwoHosts;

namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::string>;
constexpr std::chrono::minutes kLimit{4};  // of a job; the machine may be busy

// Skips the test on a machine without namespaces.
void require_hosts() {
  static const std::string reason = Hosts::why_unavailable();
  if (!reason.empty()) test::skip("several hosts: " + reason);
}

void require_made_links() {
  static const std::string reason = Hosts::why_no_links();
  if (!reason.empty()) test::skip("links that are slow or lose packets: " + reason);
}

// Has a training run still be going on when the test gets round to doing something to it.
const std::string kSlowSteps = "rank=0 step=1 slow=0.3s";
const test::LinkQuality kLossy{.delay = 2ms, .bytes_per_second = 100e6, .lose_one_in = 200};
const test::LinkQuality kSlow{.delay = 10ms, .bytes_per_second = 25e6};

/// A job on several hosts: one `lockstep launch` each.
class Job {
 public:
  /// @param hosts  Hosts or TwoHosts; outlives the job.
  Job(const auto& hosts, std::vector<std::string> options, std::vector<std::string> program)
      : on_host_([&hosts](int host, const std::vector<std::string>& command) { return hosts.on_host(host, command); }),
        endpoint_(hosts.address(0) + ":29400"),
        options_(std::move(options)),
        program_(std::move(program)) {}

  /// As a person on that host would start it.
  [[nodiscard]] std::unique_ptr<Subprocess> start(int host, int ranks) const {
    std::vector<std::string> command{test::built_program("lockstep"),
                                     "launch",
                                     "--node-rank",
                                     std::to_string(host),
                                     "--rdzv-endpoint",
                                     endpoint_,
                                     "--nproc",
                                     std::to_string(ranks),
                                     "--no-prefix"};
    command.insert(command.end(), options_.begin(), options_.end());
    command.emplace_back("--");
    command.insert(command.end(), program_.begin(), program_.end());
    return std::make_unique<Subprocess>(
        on_host_(host, command), std::vector<std::pair<std::string, std::string>>{{"LOCKSTEP_TOKEN", token_},
                                                                                  {"LOCKSTEP_LIVENESS_SECONDS", "5"},
                                                                                  {"LOCKSTEP_GRACE_SECONDS", "5"},
                                                                                  {"OMP_NUM_THREADS", "1"}});
  }

 private:
  std::function<std::vector<std::string>(int, const std::vector<std::string>&)> on_host_;
  std::string endpoint_;
  std::vector<std::string> options_, program_;
  std::string token_ = net::make_token();
};

// A line of metrics without the times and the memory.
std::string what_was_computed(const std::string& line) {
  const auto between = [&line](const std::string& first, const std::string& last) {
    const std::size_t begin = line.find(first), end = line.find(last, begin);
    if (begin == std::string::npos || end == std::string::npos) throw FormatError("no metrics: " + line);
    return line.substr(begin, end - begin);
  };
  return between("\"step\"", "\"tokens\"") + between("\"sample_ids\"", "]");
}

std::string samples_in(const std::string& step) { return step.substr(step.find("\"sample_ids\"")); }

double loss_in(const std::string& step) {
  const std::string key = "\"loss\":";
  return std::stod(step.substr(step.find(key) + key.size()));
}

/// A folder that all hosts see, with a text and the runs on it.
class Training {
 public:
  Training() {
    std::string text;
    for (int i = 0; i < 150; ++i) text += concat("Host after host, rank after rank, number ", i % 9, ".\n");
    write_file(folder_ / "text.txt", text);
  }

  [[nodiscard]] std::vector<std::string> program(const std::string& run) const {
    return {test::built_program("train_gpt_elastic"),
            "--data",
            (folder_ / "text.txt").string(),
            "--out",
            (folder_ / run).string(),
            "--steps",
            "12",
            "--batch-size",
            "8",
            "--dropout",
            "0.1",
            "--sample-tokens",
            "0",
            "--validate-every",
            "0",
            "--save-every",
            "1",
            "--check-replicas",
            "0",
            "--log-batches"};
  }

  /// Loss, gradient norm and samples of every step, as the run has written them: to the last bit.
  [[nodiscard]] Steps metrics(const std::string& run) const {
    Steps steps;
    std::error_code ignored;
    for (const fs::directory_entry& folder : fs::directory_iterator(folder_ / run, ignored)) {
      std::ifstream file(folder.path() / "metrics.jsonl");
      for (std::string line; std::getline(file, line);) steps.push_back(what_was_computed(line));
    }
    return steps;
  }

  /// The same on one host, undisturbed, by four ranks.
  [[nodiscard]] Steps reference() const {
    std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", "4", "--"};
    const std::vector<std::string> training = program("reference");
    command.insert(command.end(), training.begin(), training.end());
    // By the same algorithm: shared memory, which ranks of one host use otherwise, adds in another order (ADR 0005).
    const Finished finished =
        Subprocess(command, {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_TRANSPORT", "tcp"}}).wait(kLimit);
    return finished.exit_code == 0 ? metrics("reference") : Steps{};
  }

 private:
  test::TemporaryFolder folder_;
};

// All processes of a host, the launcher among them: the host's first process.
std::vector<pid_t> processes_of(const Subprocess& host) { return descendants_of(host.pid()); }

// As if the power had failed: the first process of a set takes all others with it.
void kill_host(const Subprocess& host) { test::signal_process(processes_of(host).at(0), SIGKILL); }

void freeze_host(const Subprocess& host) {
  for (const pid_t pid : processes_of(host)) test::signal_process(pid, SIGSTOP);
}

const std::string kLost = "host node1 (node rank 1) is lost: ";

}  // namespace

TEST_CASE("two hosts and four train as one does, bit for bit", "[integration][launch][multirank]") {
  require_hosts();
  const Training training;
  const auto expected = training.reference();
  REQUIRE(expected.size() == 12);
  for (const std::vector<int>& ranks : {std::vector{3, 1}, std::vector{1, 1, 1, 1}}) {
    const int count = static_cast<int>(ranks.size());
    const Hosts hosts(count);
    const std::string name = concat("hosts-", count);
    const Job job(hosts, {"--nnodes", std::to_string(count), "--rdzv-id", name}, training.program(name));
    std::vector<std::unique_ptr<Subprocess>> launchers;
    for (int host = 0; host < count; ++host)
      launchers.push_back(job.start(host, ranks[static_cast<std::size_t>(host)]));
    for (const auto& launcher : launchers) {
      const Finished finished = launcher->wait(kLimit);
      CAPTURE(count, finished.out, finished.err);
      CHECK(finished.exit_code == 0);
    }
    CHECK(training.metrics(name) == expected);
  }
}

TEST_CASE("two hosts train as one does over a slow link that loses packets", "[integration][launch][multirank]") {
  require_hosts();
  const std::string reason = TwoHosts::why_unavailable();
  if (!reason.empty()) test::skip("a link that loses packets: " + reason);
  const Training training;
  const auto expected = training.reference();
  REQUIRE(expected.size() == 12);
  const TwoHosts hosts({.delay = 5ms, .bytes_per_second = 20e6, .lose_one_in = 500});
  const Job job(hosts, {"--nnodes", "2"}, training.program("lossy"));
  const auto first = job.start(0, 2), second = job.start(1, 2);
  const Finished of_first = first->wait(kLimit), of_second = second->wait(kLimit);
  CAPTURE(of_first.err, of_second.err);
  CHECK(of_first.exit_code == 0);
  CHECK(of_second.exit_code == 0);
  CHECK(training.metrics("lossy") == expected);
}

TEST_CASE("four hosts, one behind a link that loses packets and one behind a slow one, train as one does",
          "[integration][launch][multirank]") {
  require_hosts();
  require_made_links();
  const Training training;
  const auto expected = training.reference();
  REQUIRE(expected.size() == 12);
  const Hosts hosts(4, {{1, kLossy}, {3, kSlow}});
  const Job job(hosts, {"--nnodes", "4"}, training.program("four"));
  std::vector<std::unique_ptr<Subprocess>> launchers;
  for (int host = 0; host < 4; ++host) launchers.push_back(job.start(host, 1));
  for (const auto& launcher : launchers) {
    const Finished finished = launcher->wait(kLimit);
    CAPTURE(finished.out, finished.err);
    CHECK(finished.exit_code == 0);
  }
  CHECK(training.metrics("four") == expected);
}

TEST_CASE("a host that is killed, frozen or unplugged is named on all others", "[integration][launch][multirank]") {
  require_hosts();
  const std::string fault = GENERATE("killed", "frozen", "unplugged");
  const Hosts hosts(3);
  const Job job(hosts, {"--nnodes", "3"}, {test::built_program("rank_helper"), "3", "endless", "-1"});
  std::vector<std::unique_ptr<Subprocess>> launchers;
  for (int host = 0; host < 3; ++host) launchers.push_back(job.start(host, 1));
  for (const auto& launcher : launchers) REQUIRE(launcher->wait_for_output("ready pid ", 60s));
  if (fault == "killed") kill_host(*launchers[1]);
  if (fault == "frozen") freeze_host(*launchers[1]);
  if (fault == "unplugged") hosts.unplug(1);
  for (const int host : {0, 2}) {
    const Finished finished = launchers[static_cast<std::size_t>(host)]->wait(kLimit);
    CAPTURE(fault, host, finished.err);
    CHECK(finished.exit_code == 1);
    CHECK_THAT(finished.err, ContainsSubstring("first failure: " + kLost));
    CHECK_THAT(finished.err,
               ContainsSubstring(fault == "killed" ? "closed the connection" : "no sign of life for 5.0 s"));
  }
  if (fault != "unplugged") return;
  const Finished cut_off = launchers[1]->wait(kLimit);
  CAPTURE(cut_off.err);
  CHECK(cut_off.exit_code == 1);
  CHECK_THAT(cut_off.err, ContainsSubstring("host node0 (node rank 0) (10.78.0.1:29400) is silent for 5.0 s"));
}

TEST_CASE("a job that may restart ends with the losses of one that nothing happened to",
          "[integration][launch][multirank]") {
  require_hosts();
  const std::string fault = GENERATE("killed", "unplugged");
  const Training training;
  const auto expected = training.reference();
  REQUIRE(expected.size() == 12);
  const Hosts hosts(2);
  const Job job(hosts, {"--nnodes", "2", "--max-restarts", "2", "--inject", kSlowSteps}, training.program("restarted"));
  const auto first = job.start(0, 2);
  auto second = job.start(1, 2);
  REQUIRE(first->wait_for_output("step  3/12", 100s));
  if (fault == "killed") {
    kill_host(*second);
    (void)second->wait();
    second = job.start(1, 2);  // as whatever has started it does again
  } else {
    hosts.unplug(1);
    REQUIRE(second->wait_for_output("joining again", 60s));
    hosts.plug_in(1);
  }
  const Finished of_second = second->wait(kLimit);
  const Finished of_first = first->wait(kLimit);
  CAPTURE(fault, of_first.err, of_second.err);
  CHECK(of_first.exit_code == 0);
  CHECK(of_second.exit_code == 0);
  CHECK_THAT(of_first.err, ContainsSubstring(kLost));
  CHECK_THAT(of_first.err, ContainsSubstring("restart 1 of 2"));
  CHECK_THAT(of_first.out, ContainsSubstring("resumed at step"));
  CHECK(training.metrics("restarted") == expected);
}

TEST_CASE("of four hosts with a lossy and a slow link, one is lost: the others name it, and the losses stay the same",
          "[integration][launch][multirank]") {
  require_hosts();
  require_made_links();
  const std::string fault = GENERATE("killed", "frozen", "unplugged", "unplugged for a moment");
  const Training training;
  const auto expected = training.reference();
  REQUIRE(expected.size() == 12);
  const Hosts hosts(4, {{2, kLossy}, {3, kSlow}});
  const Job job(hosts, {"--nnodes", "4", "--max-restarts", "2", "--inject", kSlowSteps}, training.program("four"));
  std::vector<std::unique_ptr<Subprocess>> launchers;
  for (int host = 0; host < 4; ++host) launchers.push_back(job.start(host, 1));
  REQUIRE(launchers[0]->wait_for_output("step  3/12", 150s));
  if (fault == "killed") {
    kill_host(*launchers[1]);
    (void)launchers[1]->wait();
    launchers[1] = job.start(1, 1);  // as whatever has started it does again
  } else if (fault == "frozen") {
    const auto frozen = processes_of(*launchers[1]);
    freeze_host(*launchers[1]);
    REQUIRE(launchers[0]->wait_for_output(kLost, 60s));
    for (const pid_t pid : frozen) test::signal_process(pid, SIGCONT);
  } else {
    hosts.unplug(1);
    if (fault == "unplugged") REQUIRE(launchers[1]->wait_for_output("joining again", 60s));
    if (fault != "unplugged") std::this_thread::sleep_for(1s);  // less than anybody's patience
    hosts.plug_in(1);
  }
  const bool is_noticed = fault != "unplugged for a moment";
  for (int host = 3; host >= 0; --host) {
    const Finished finished = launchers[static_cast<std::size_t>(host)]->wait(kLimit);
    CAPTURE(fault, host, finished.out, finished.err);
    CHECK(finished.exit_code == 0);
    if (host != 1) CHECK((finished.err.find(kLost) != std::string::npos) == is_noticed);
    if (host == 0) CHECK((finished.err.find("restart 1 of 2") != std::string::npos) == is_noticed);
    CHECK_THAT(finished.err, !ContainsSubstring("restart 2 of 2"));
  }
  CHECK(training.metrics("four") == expected);
}

TEST_CASE("hosts that come and go change neither the batches nor, beyond rounding, the losses",
          "[integration][launch][multirank]") {
  require_hosts();
  const Training training;
  const auto expected = training.reference();
  REQUIRE(expected.size() == 12);
  const Hosts hosts(3);
  const Job job(hosts, {"--nnodes", "2:3", "--inject", kSlowSteps}, training.program("elastic"));
  const auto first = job.start(0, 1), second = job.start(1, 1);
  REQUIRE(first->wait_for_output("step  2/12", 150s));  // after the last call for the third host
  const auto third = job.start(2, 1);
  REQUIRE(first->wait_for_output("ranks   3", 100s));  // which do not divide a batch of 8
  REQUIRE(third->wait_for_output("generation 1", 100s));
  test::signal_process(processes_of(*second).at(0), SIGTERM);
  const Finished of_second = second->wait(kLimit), of_third = third->wait(kLimit), of_first = first->wait(kLimit);
  CAPTURE(of_first.out, of_first.err, of_second.err, of_third.err);
  CHECK(of_first.exit_code == 0);
  CHECK(of_third.exit_code == 0);
  const auto found = training.metrics("elastic");
  REQUIRE(found.size() == 12);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(samples_in(found[i]) == samples_in(expected[i]));
    // Sums in another order: as in tests/07_launch_and_survive/train_gpt_elastic_test.cpp.
    CHECK(std::abs(loss_in(found[i]) - loss_in(expected[i])) < 1e-3);
  }
}
