// An elastic training run on one host or two, to which something happens: a fault of a random kind, on a random rank,
// in a random step, or a whole host that is killed. Whatever it was, the run ends as one to which nothing happened,
// what happened is named on the right rank, no process is left and every checkpoint can be read. A few trials, or as
// many as LOCKSTEP_RANDOM_FAULTS says; then a summary is printed too: LOCKSTEP_RANDOM_FAULTS=200 random_faults_test
#include <signal.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/processes.hpp"
#include "checkpoint/checkpoint.hpp"
#include "net/tcp_listener.hpp"
#include "net/token.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

using Options = std::vector<std::string>;
constexpr int kSteps = 6;
constexpr int kWorldSize = 3;              // of two hosts: two ranks on the first, one on the second
constexpr std::chrono::minutes kLimit{3};  // of a run; the machine may be busy
// "host" is the second host's launcher, killed with its rank.
constexpr std::array<const char*, 9> kKinds{"kill",      "stop", "slow=2x", "drop", "corrupt",
                                            "disk-full", "nan",  "oom",     "host"};

int trials() {
  return static_cast<int>(environment::get_int("LOCKSTEP_RANDOM_FAULTS", 1, 1'000'000).value_or(std::ssize(kKinds)));
}

/// The planned faults.
struct Trial {
  std::string kind;
  int rank = 0, step = 1;
  bool has_two_hosts = false;

  [[nodiscard]] std::string text() const {
    return concat("rank=", rank, " step=", step, " ", kind, has_two_hosts ? ", two hosts" : "");
  }
};

Trial draw(int number, std::mt19937& random) {
  Trial trial;
  trial.kind = kKinds.at(static_cast<std::size_t>(number) % kKinds.size());
  trial.rank = trial.kind == "disk-full" ? 0 : static_cast<int>(random() % kWorldSize);  // rank 0 alone saves
  trial.step = 1 + static_cast<int>(random() % kSteps);
  if (trial.kind == "slow=2x") trial.step = std::max(trial.step, 2);        // twice as long as the step before
  if (trial.kind == "host") trial.step = std::min(trial.step, kSteps - 1);  // after the last one the run may be over
  trial.has_two_hosts = trial.kind == "host" || random() % 2 == 0;
  return trial;
}

/// A folder with a text, and one training run on it.
class Training {
 public:
  Training() { test::write_words(folder_ / "text.txt", 4000); }

  /// The launcher of one of `hosts` hosts.
  [[nodiscard]] std::unique_ptr<test::Subprocess> start(int host, int hosts, int ranks,
                                                        const std::string& fault) const {
    Options command{test::built_program("lockstep"),
                    "launch",
                    "--nproc",
                    std::to_string(ranks),
                    "--max-restarts",
                    "1",
                    "--restart-backoff",
                    "0.1"};
    if (hosts > 1)
      command.insert(command.end(),
                     {"--nnodes", "1:2", "--node-rank", std::to_string(host), "--rdzv-endpoint", endpoint_});
    if (!fault.empty()) command.insert(command.end(), {"--inject", fault});
    command.insert(command.end(), {"--",
                                   test::built_program("train_gpt_elastic"),
                                   "--data",
                                   (folder_ / "text.txt").string(),
                                   "--out",
                                   out().string(),
                                   "--steps",
                                   std::to_string(kSteps),
                                   "--batch-size",
                                   "8",
                                   "--dropout",
                                   "0.1",
                                   "--sample-tokens",
                                   "0",
                                   "--validate-every",
                                   "0",
                                   "--save-every",
                                   "2",
                                   "--no-async-save",
                                   "--check-replicas",
                                   "0",
                                   "--log-batches"});
    return std::make_unique<test::Subprocess>(
        command, std::vector<std::pair<std::string, std::string>>{{"OMP_NUM_THREADS", "1"},
                                                                  {"LOCKSTEP_TRANSPORT", "tcp"},  // as `drop` needs
                                                                  {"LOCKSTEP_TOKEN", token_},
                                                                  {"LOCKSTEP_LIVENESS_SECONDS", "3"},
                                                                  {"LOCKSTEP_GRACE_SECONDS", "3"}});
  }

  [[nodiscard]] std::vector<run::StepMetrics> metrics() const {
    const auto run = run::latest_run(out());
    return run ? run::read_metrics(*run / "metrics.jsonl") : std::vector<run::StepMetrics>{};
  }
  void verify_checkpoints() const {
    const auto run = run::latest_run(out());
    if (!run) throw Error("no checkpoint is left");
    for (const fs::path& each : checkpoint::CheckpointFolder(run::checkpoints_of(*run)).list())
      checkpoint::verify(each);
  }

 private:
  [[nodiscard]] fs::path out() const { return folder_ / "runs"; }
  test::TemporaryFolder folder_;
  std::string token_ = net::make_token();
  std::string endpoint_ = concat("127.0.0.1:", net::TcpListener().address().port);
};

// What a person who reads the messages must find there.
std::string expected_name(const Trial& trial) {
  const std::string rank = concat("rank ", trial.rank);
  const std::map<std::string, std::string> names{{"kill", rank + " was killed by SIGKILL"},
                                                 {"stop", rank + " is silent for "},
                                                 {"slow=2x", concat("injected fault: rank=", trial.rank)},
                                                 {"drop", concat("the connection between ")},
                                                 {"corrupt", rank + " ("},
                                                 {"disk-full", "No space left on device"},
                                                 {"nan", "on " + rank + ", before averaging"},
                                                 {"oom", concat("[", rank, "] train_gpt_elastic: out of memory")},
                                                 {"host", "(node rank 1) is lost"}};
  return names.at(trial.kind);
}

// A rank that a summary calls the culprit, and to which nothing was done. Of a connection either end may be named.
std::string wrongly_accused(const Trial& trial, const std::string& messages) {
  if (trial.kind == "drop" || trial.kind == "host") return "";
  static const std::regex kCulprit(R"(rank (\d+) \(the culprit\))");
  for (std::sregex_iterator match(messages.begin(), messages.end(), kCulprit), end; match != end; ++match) {
    if (std::stoi((*match)[1]) != trial.rank) return concat("rank ", (*match)[1].str(), " is called the culprit; ");
  }
  return "";
}

std::string difference(const std::vector<run::StepMetrics>& found, const std::vector<run::StepMetrics>& expected,
                       bool has_same_ranks) {
  if (std::ssize(found) != kSteps) return concat("metrics of ", found.size(), " steps; ");
  std::string problem;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].sample_ids != expected[i].sample_ids) problem += concat("step ", i + 1, " had other samples; ");
    const double off = std::abs(found[i].loss - expected[i].loss);
    // With another number of ranks, sums are taken in another order: as in train_gpt_elastic_test.cpp.
    if (has_same_ranks ? off != 0 : off >= 1e-3)
      problem += concat("the loss of step ", i + 1, " is off by ", off, "; ");
  }
  return problem;
}

// The problem with a trial's end; empty: none.
std::string run_trial(const Trial& trial, const std::vector<run::StepMetrics>& expected) {
  const Training training;
  const bool is_host = trial.kind == "host";
  // A host is killed from outside: slow steps see to it that the run is not over by then.
  const std::string fault =
      is_host ? "rank=0 step=1 slow=0.5s" : concat("rank=", trial.rank, " step=", trial.step, " ", trial.kind);
  const int hosts = trial.has_two_hosts ? 2 : 1;
  const auto first = training.start(0, hosts, hosts == 1 ? kWorldSize : kWorldSize - 1, fault);
  const auto second = hosts == 1 ? nullptr : training.start(1, hosts, 1, fault);
  std::string problem;
  if (is_host) {
    if (!first->wait_for_output(concat("step ", trial.step, "/"), kLimit)) problem += "the step never came; ";
    test::signal_process(second->pid(), SIGKILL);
  }
  std::vector<pid_t> family = descendants_of(first->pid());
  const test::Finished finished = first->wait(kLimit);
  std::string messages = finished.out + finished.err;
  if (finished.exit_code != 0) problem += concat("exit ", finished.exit_code, "; ");
  if (second != nullptr) {
    const test::Finished other = second->wait(kLimit);
    messages += other.out + other.err;
    if (!is_host && other.exit_code != 0) problem += concat("the second host's exit ", other.exit_code, "; ");
  }
  if (messages.find(expected_name(trial)) == std::string::npos)
    problem += concat("nobody says '", expected_name(trial), "'; ");
  problem += wrongly_accused(trial, messages);
  if (!test::wait_until_gone(family).empty()) problem += "processes are left; ";
  try {
    training.verify_checkpoints();
    problem += difference(training.metrics(), expected, !is_host);
  } catch (const std::exception& error) {
    problem += concat(error.what(), "; ");
  }
  return problem.empty() ? "" : problem + "\n" + messages;
}

}  // namespace

TEST_CASE("whatever happens to an elastic run, it ends as if nothing had", "[elastic][integration][multirank]") {
  const Training undisturbed;
  const test::Finished finished = undisturbed.start(0, 1, kWorldSize, "")->wait(kLimit);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto expected = undisturbed.metrics();
  REQUIRE(std::ssize(expected) == kSteps);
  const auto seed =
      static_cast<unsigned>(environment::get_int("LOCKSTEP_RANDOM_FAULTS_SEED", 0, 1'000'000).value_or(7));
  std::mt19937 random(seed);
  std::map<std::string, int> passed;
  for (int number = 0; number < trials(); ++number) {
    const Trial trial = draw(number, random);
    CAPTURE(number, trial.text());
    const std::string problem = run_trial(trial, expected);
    CHECK(problem == "");
    passed[trial.kind] += problem.empty() ? 1 : 0;
    if (trials() > std::ssize(kKinds))
      std::cout << number + 1 << " " << trial.text() << ": " << (problem.empty() ? "ok" : "FAILED") << std::endl;
  }
  if (trials() <= std::ssize(kKinds)) return;
  for (const auto& [kind, count] : passed) std::cout << kind << ": " << count << " passed\n";
}
