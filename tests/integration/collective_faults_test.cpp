// Every collective, with a rank that is killed or stopped in the middle of it: all others must end with an error that
// names it, and no process may be left. One trial each, or as many as LOCKSTEP_FAULT_TRIALS says; then the times are
// printed too: LOCKSTEP_FAULT_TRIALS=10 collective_faults_test. LOCKSTEP_FAULT_BACKEND names the only backend to try.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/processes.hpp"
#include "device/device.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using test::Finished;
using test::Subprocess;

namespace {

constexpr int kWorldSize = 3;
constexpr int kAtOnce = 6;  // jobs side by side: a trial mostly waits for its ranks to end

// NVIDIA's NCCL only when it is asked for: ranks that share a GPU need LOCKSTEP_TEST_SHARE_GPU=1.
std::vector<std::string> backends() {
  if (const auto only = environment::get("LOCKSTEP_FAULT_BACKEND")) return {*only};
  std::vector<std::string> all{"star", "ring", "shared_memory"};
#ifdef LOCKSTEP_HAVE_GLOO
  all.emplace_back("gloo");
#endif
  if (accelerator_type() == DeviceType::kEmulated) all.emplace_back("nccl");
  return all;
}
const std::vector<std::string> kCollectives{"all_reduce", "broadcast", "reduce",     "all_gather", "reduce_scatter",
                                            "gather",     "scatter",   "all_to_all", "barrier",    "send_recv"};

int trials() { return static_cast<int>(environment::get_int("LOCKSTEP_FAULT_TRIALS", 1, 100000).value_or(1)); }

// The number that follows `before`; -1 if it is not there.
long number_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  return at == std::string::npos ? -1 : std::stol(text.substr(at + before.size()));
}

std::string error_of_rank(const std::string& text, int rank) {
  const std::string prefix = "[rank " + std::to_string(rank) + "] collective_helper: ";
  const std::size_t at = text.find(prefix);
  return at == std::string::npos ? "" : text.substr(at + prefix.size(), text.find('\n', at) - at - prefix.size());
}

struct Trial {
  std::string backend, collective;
  int victim = 0;
  int signal = 0;
  std::chrono::microseconds delay{0};
  std::vector<std::pair<std::string, std::string>> environment;
};

struct Outcome {
  std::string problem;               // empty: all went as it should
  std::vector<double> latencies_ms;  // from the signal to each survivor's error
};

Outcome run_trial(const Trial& trial) {
  Subprocess job(
      {test::built_program("collective_helper"), std::to_string(kWorldSize), trial.backend, trial.collective},
      trial.environment);
  for (int rank = 0; rank < kWorldSize; ++rank) {
    if (!job.wait_for_output("[rank " + std::to_string(rank) + "] ready pid "))
      return {"not ready: " + job.wait().err, {}};
  }
  const auto pid =
      static_cast<pid_t>(number_after(job.out(), "[rank " + std::to_string(trial.victim) + "] ready pid "));
  const std::vector<pid_t> family = descendants_of(job.pid());
  std::this_thread::sleep_for(trial.delay);
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  test::signal_process(pid, trial.signal);
  const Finished finished = job.wait();

  Outcome outcome;
  std::string& problem = outcome.problem;
  if (finished.exit_code == 0) problem += "the job ended with 0; ";
  for (int rank = 0; rank < kWorldSize; ++rank) {
    if (rank == trial.victim) continue;
    const std::string error = error_of_rank(finished.err, rank);
    if (error.find("rank " + std::to_string(trial.victim)) == std::string::npos) {
      problem += "rank " + std::to_string(rank) + " says '" + error + "'; ";
    }
    const long failed_at = number_after(finished.out, "[rank " + std::to_string(rank) + "] failed at ");
    const auto killed_at = std::chrono::duration_cast<std::chrono::microseconds>(before).count();
    outcome.latencies_ms.push_back(static_cast<double>(failed_at - killed_at) / 1e3);
  }
  if (!test::wait_until_gone(family).empty()) problem += "processes are left; ";
  return outcome;
}

std::vector<Outcome> run_side_by_side(const std::vector<Trial>& all) {
  std::vector<Outcome> outcomes(all.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> runners;
  const int at_once = trials() > 1 ? 1 : kAtOnce;  // nothing beside what is timed
  for (int i = 0; i < at_once; ++i) {
    runners.emplace_back([&] {
      for (std::size_t at = next++; at < all.size(); at = next++) {
        try {
          outcomes[at] = run_trial(all[at]);
        } catch (const std::exception& error) {
          outcomes[at].problem = error.what();
        }
      }
    });
  }
  runners.clear();  // waits for them
  return outcomes;
}

void run_trials(int signal, const std::vector<std::pair<std::string, std::string>>& environment) {
  std::mt19937 random(20261121U + static_cast<unsigned>(signal));
  for (const std::string& backend : backends()) {
    std::vector<Trial> all;
    for (const std::string& collective : kCollectives) {
      for (int i = 0; i < trials(); ++i) {
        all.push_back({backend, collective, static_cast<int>(random() % kWorldSize), signal,
                       std::chrono::microseconds(random() % 30'000), environment});
      }
    }
    const std::vector<Outcome> outcomes = run_side_by_side(all);
    std::vector<double> latencies_ms;
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(backend, all[i].collective, all[i].victim, signal, i);
      CHECK(outcomes[i].problem == "");
      latencies_ms.insert(latencies_ms.end(), outcomes[i].latencies_ms.begin(), outcomes[i].latencies_ms.end());
    }
    std::ranges::sort(latencies_ms);
    if (trials() > 1) {
      std::cout << backend << ", " << (signal == SIGKILL ? "SIGKILL" : "SIGSTOP") << ", " << all.size()
                << " trials: survivors know after (ms) median " << latencies_ms[latencies_ms.size() / 2] << ", most "
                << latencies_ms.back() << std::endl;
    }
  }
}

}  // namespace

TEST_CASE("a rank killed in any collective is named by all others", "[integration][multirank]") {
  run_trials(SIGKILL, {});
}

TEST_CASE("a rank stopped in any collective is named by all others", "[integration][multirank]") {
  // On a busy machine a healthy rank may well get no processor for half a second: it must not count as stopped.
  run_trials(SIGSTOP, {{"LOCKSTEP_LIVENESS_SECONDS", "2"}});
}
