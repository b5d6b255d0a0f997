// train_gpt_ddp itself under the launcher, killed by SIGKILL at random moments: a random rank, or the launcher; started
// again with --resume until it is complete. Whatever was killed when, every checkpoint verifies, none that had its name
// is lost, and the training that comes out is the one that was never killed: bit for bit at the same number of ranks,
// with the same samples at others. A few trials, or as many as LOCKSTEP_TRAINER_KILL_TRIALS says; then a summary is
// printed too: LOCKSTEP_TRAINER_KILL_TRIALS=1000 checkpoint_kill_test '[trainer]'
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/processes.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 12;     // an epoch and a half
constexpr int kWorldSize = 2;  // of the run that is never killed
constexpr int kLauncher = -1;  // in the place of a rank
// From a step's line to the kill at most: longer than a step and its save if the machine does nothing else.
constexpr int kLongestMs = 100;
constexpr int kLongestStartMs = 300;       // the same for a job that starts or loads
constexpr std::chrono::minutes kLimit{5};  // of a start; thousands of them meet a machine that is busy

int trials() {
  return static_cast<int>(environment::get_int("LOCKSTEP_TRAINER_KILL_TRIALS", 1, 1'000'000).value_or(6));
}

/// A folder with a text, and one training on it that may be started many times.
class Training {
 public:
  Training(int save_every, int keep_last) : save_every_(save_every), keep_last_(keep_last) {
    std::string text;
    for (int i = 0; i < 150; ++i) text += concat("Ring after ring, rank after rank, number ", i % 9, ".\n");
    write_file(folder_ / "text.txt", text);
  }

  /// Goes on from the newest checkpoint; begins anew if none was saved.
  [[nodiscard]] test::Subprocess start(int world_size) const {
    std::vector<std::string> command{
        test::built_program("lockstep"),      "launch", "--nproc",     std::to_string(world_size), "--",
        test::built_program("train_gpt_ddp"), "--out",  out().string()};
    const std::vector<std::string> more =
        run::latest_run(out()) ? std::vector{std::string("--resume")} : first_options();
    command.insert(command.end(), more.begin(), more.end());
    return test::Subprocess(command, {{"OMP_NUM_THREADS", "1"}});
  }

  /// Where the last start left its files. @pre  It saved a checkpoint.
  [[nodiscard]] fs::path run() const { return run::latest_run(out()).value(); }
  /// None saved: an empty list.
  [[nodiscard]] std::vector<fs::path> checkpoints() const {
    const auto latest = run::latest_run(out());
    return latest ? checkpoint::CheckpointFolder(run::checkpoints_of(*latest)).list() : std::vector<fs::path>{};
  }
  /// Leftovers of a killed writer.
  [[nodiscard]] std::string leftovers() const {
    std::string names;
    const auto latest = run::latest_run(out());
    if (!latest) return names;
    for (const auto& entry : fs::directory_iterator(run::checkpoints_of(*latest))) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(".") && name != ".writer_lock") names += name + "; ";  // the lock's file stays
    }
    return names;
  }

  [[nodiscard]] int keep_last() const noexcept { return keep_last_; }

 private:
  [[nodiscard]] fs::path out() const { return folder_ / "runs"; }
  [[nodiscard]] std::vector<std::string> first_options() const {
    return {"--data",
            (folder_ / "text.txt").string(),
            "--steps",
            std::to_string(kSteps),
            "--batch-size",
            "6",
            "--dropout",
            "0.1",
            "--sample-tokens",
            "0",
            "--log-batches",
            "--validate-every",
            "0",
            "--save-every",
            std::to_string(save_every_),
            "--keep-last",
            std::to_string(keep_last_),
            "--check-replicas",
            "0"};
  }

  test::TemporaryFolder folder_;
  int save_every_;
  int keep_last_;
};

int step_of(const fs::path& checkpoint) { return checkpoint::load_state(checkpoint).at("step").get<int>(); }

int newest_step(const Training& training) {
  const auto all = training.checkpoints();
  return all.empty() ? 0 : std::stoi(all.back().filename().string().substr(std::string("step_").size()));
}

/// The run that is never killed: a checkpoint of every step.
struct Reference {
  Training training{1, kSteps + 1};
  std::vector<run::StepMetrics> metrics;
  std::string error;
};

void record(Reference& reference) {
  const test::Finished finished = reference.training.start(kWorldSize).wait(kLimit);
  if (finished.exit_code != 0) reference.error = finished.err;
  if (reference.error.empty()) reference.metrics = run::read_metrics(reference.training.run() / "metrics.jsonl");
}

// The problem with a checkpoint that must be the reference's of its step.
std::string difference_from(const Reference& reference, const fs::path& found, bool has_reference_world) {
  const int step = step_of(found);
  const fs::path expected = reference.training.checkpoints().at(static_cast<std::size_t>(step - 1));
  for (const char* part : {"optimizer_steps", "sampler"})
    if (checkpoint::load_state(found).at(part) != checkpoint::load_state(expected).at(part))
      return concat(found.string(), ": another ", part, "; ");
  if (!has_reference_world) return "";
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    if (read_file(found / file) != read_file(expected / file))
      return concat(found.string(), "/", file, " differs from the uninterrupted run's; ");
  return "";
}

/// Starts and kills of one training.
struct Chain {
  int save_every = 1;
  bool has_fixed_world = true;  ///< Else every start has another number of ranks.
  int kills = 0;
  int torn_saves = 0;  ///< Kills that left a folder half written or half removed.
  bool is_complete = false;
  std::string problem = {};
};

// After a kill; `durable` is the newest step that had been renamed before it.
std::string problem_after_kill(const Training& training, int durable, const Chain& chain, const Reference& reference) {
  try {
    const std::vector<fs::path> all = training.checkpoints();
    for (const fs::path& each : all) checkpoint::verify(each);
    const int newest = newest_step(training);
    if (newest < durable) return concat("step ", durable, " was saved, the newest is ", newest, "; ");
    return all.empty() ? "" : difference_from(reference, all.back(), chain.has_fixed_world);
  } catch (const std::exception& error) {
    return concat(error.what(), "; ");
  }
}

// A training that is complete has done what the run that was never killed did, and nothing of killed writers is left.
std::string problem_at_end(const Training& training, const Chain& chain, const Reference& reference) {
  std::string problem = training.leftovers();
  const std::vector<fs::path> all = training.checkpoints();
  if (all.empty() || step_of(all.back()) != kSteps) return problem + "it is not complete; ";
  if (std::ssize(all) > training.keep_last()) problem += concat(all.size(), " checkpoints are kept; ");
  problem += difference_from(reference, all.back(), chain.has_fixed_world);
  const auto metrics = run::read_metrics(training.run() / "metrics.jsonl");
  if (metrics.size() != kSteps) return problem + concat("metrics of ", metrics.size(), " steps; ");
  for (std::size_t i = 0; i < kSteps; ++i) {
    const run::StepMetrics &found = metrics[i], &expected = reference.metrics.at(i);
    if (found.sample_ids != expected.sample_ids) problem += concat("step ", i + 1, " had other samples; ");
    if (chain.has_fixed_world && (found.loss != expected.loss || found.gradient_norm != expected.gradient_norm))
      problem += concat("step ", i + 1, " had another loss or gradient; ");
  }
  return problem;
}

// The process that is that rank of the job, or the launcher if there is none yet.
pid_t process_of(const test::Subprocess& job, int rank) {
  using namespace std::string_literals;
  for (const pid_t pid : descendants_of(job.pid())) {
    try {
      const std::string environment = "\0"s + read_file(fs::path("/proc") / std::to_string(pid) / "environ") + "\0"s;
      if (environment.find("\0RANK="s + std::to_string(rank) + "\0"s) != std::string::npos) return pid;
    } catch (const IoError&) {  // it has ended meanwhile
    }
  }
  return job.pid();
}

// Waits for a random moment: around a step's end and its save, or (one in eight) while the job starts or loads.
void wait_for_moment(test::Subprocess& job, int last_saved_step, std::mt19937& random) {
  const int steps_left = kSteps - last_saved_step;
  const bool is_training = steps_left > 0 && random() % 8 != 0;
  if (is_training) {
    const int step = last_saved_step + 1 + static_cast<int>(random() % static_cast<unsigned>(steps_left));
    (void)job.wait_for_output(concat("] step ", step < 10 ? " " : "", step, "/"), kLimit);
  }
  std::this_thread::sleep_for(
      std::chrono::microseconds(random() % ((is_training ? kLongestMs : kLongestStartMs) * 1000U)));
}

// One start of the training, killed on its way or complete.
void run_trial(Chain& chain, const Training& training, const Reference& reference, std::mt19937& random) {
  const int world_size = chain.has_fixed_world ? kWorldSize : 1 + static_cast<int>(random() % 3);
  const auto dice = random() % 10;  // rank 0 writes, so it is the victim half of the time
  const int victim = dice < 5   ? 0
                     : dice < 8 ? static_cast<int>(random() % static_cast<unsigned>(world_size))
                                : kLauncher;
  auto job = training.start(world_size);
  std::vector<pid_t> family;
  int durable = newest_step(training);
  const bool is_spared = durable == kSteps && random() % 2 == 0;  // else a slow machine would never be done
  if (!is_spared) {
    wait_for_moment(job, durable, random);
    family = descendants_of(job.pid());
    durable = newest_step(training);
    test::signal_process(victim == kLauncher ? job.pid() : process_of(job, victim), SIGKILL);
  }
  const test::Finished finished = job.wait(kLimit);
  if (!test::wait_until_gone(family).empty()) chain.problem += "processes are left; ";
  if (finished.exit_code == 0) {
    chain.is_complete = true;
    chain.problem += problem_at_end(training, chain, reference);
    return;
  }
  ++chain.kills;
  if (!training.leftovers().empty()) ++chain.torn_saves;
  chain.problem += problem_after_kill(training, durable, chain, reference);
  if (finished.exit_code != 128 + SIGKILL) chain.problem += concat("exit ", finished.exit_code, ": ", finished.err);
}

}  // namespace

TEST_CASE("train_gpt_ddp, killed at any moment and resumed, is the training that was never killed",
          "[integration][checkpoint][multirank][trainer]") {
  Reference reference;
  record(reference);
  REQUIRE(reference.error == "");
  REQUIRE(reference.metrics.size() == kSteps);
  std::mt19937 random(20261122U);
  int kills = 0, chains = 0, completed = 0, torn_saves = 0;
  while (kills < trials()) {
    Chain chain{.save_every = 1 + chains % 2, .has_fixed_world = chains % 3 != 2};
    const Training training(chain.save_every, 2);
    while (!chain.is_complete && chain.problem.empty()) {
      CAPTURE(chains, chain.save_every, chain.has_fixed_world, chain.kills);
      run_trial(chain, training, reference, random);
      CHECK(chain.problem == "");
    }
    kills += chain.kills;
    torn_saves += chain.torn_saves;
    ++chains;
    completed += chain.is_complete ? 1 : 0;
    if (trials() > 100)
      std::cout << kills << " kills, " << torn_saves << " of them in the middle of a save, in " << chains
                << " training runs, of which " << completed << " were completed" << std::endl;
  }
}
