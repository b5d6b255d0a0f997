// Training that saves after every step, killed by SIGKILL at random moments: a random rank, or the launcher. Whatever
// was killed when, every checkpoint there is verifies, the newest one holds bit for bit what a run that was never
// killed had saved at that step, and the next start goes on from it. A few trials, or as many as LOCKSTEP_KILL_TRIALS
// says; then a summary is printed too: LOCKSTEP_KILL_TRIALS=1000 checkpoint_kill_test. The same with four ranks of
// which each saves a part: LOCKSTEP_KILLS says how often, at most 200.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/processes.hpp"
#include "checkpoint/checkpoint.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 12;     // of a whole training: four epochs
constexpr int kWorldSize = 2;  // of the run that is never killed, unless told otherwise
constexpr int kShardedWorldSize = 4;
constexpr int kLauncher = -1;   // in the place of a rank
constexpr int kLongestMs = 90;  // from a rank's first line to the kill; about how long a whole training takes

int trials() { return static_cast<int>(environment::get_int("LOCKSTEP_KILL_TRIALS", 1, 1'000'000).value_or(12)); }

/// One training that is started again after each kill until it is complete.
struct Chain {
  std::string mode;
  std::string optimizer;
  bool has_fixed_world = true;  ///< Else every start has another number of ranks.
  int number = 0;
  int world_size = kWorldSize;
};

test::Subprocess start(const fs::path& root, int world_size, int keep_last, const Chain& chain) {
  return test::Subprocess({test::built_program("lockstep"), "launch", "--nproc", std::to_string(world_size), "--",
                           test::built_program("checkpoint_helper"), root.string(), std::to_string(kSteps),
                           std::to_string(keep_last), chain.mode, chain.optimizer},
                          {{"OMP_NUM_THREADS", "1"}});
}

/// The files of the run that is never killed: a checkpoint of every step, and each step's samples.
struct Reference {
  test::TemporaryFolder folder;
  std::map<int, std::string> samples;
  std::string error;

  [[nodiscard]] fs::path checkpoint(int step) const {
    return folder / concat("step_", std::string(step < 10 ? 7 : 6, '0'), step);
  }
};

// Adds the samples of each step in the output to `samples`; a half line at its end does not count.
void collect_samples(const std::string& out, std::map<int, std::string>& samples) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("step "), ids = line.find(" samples ");
    if (at == std::string::npos || ids == std::string::npos || !line.ends_with('.')) continue;
    samples[std::stoi(line.substr(at + 5))] = line.substr(ids);
  }
}

int last_number_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.rfind(before);
  if (at == std::string::npos || text.find('\n', at) == std::string::npos) return -1;
  return std::stoi(text.substr(at + before.size()));
}

void record(Reference& reference, const std::string& optimizer, int world_size) {
  auto job = start(reference.folder.path(), world_size, kSteps + 1, {.mode = "blocking", .optimizer = optimizer});
  const test::Finished finished = job.wait();
  if (finished.exit_code != 0) reference.error = finished.err;
  collect_samples(finished.out, reference.samples);
}

// The problem with a checkpoint that must be the reference's of that step, bit for bit.
std::string difference_from(const Reference& reference, const fs::path& found, int step) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    if (read_file(found / file) != read_file(reference.checkpoint(step) / file))
      return concat(found.string(), "/", file, " differs from the uninterrupted run's; ");
  return "";
}

// The problem with the folder of checkpoints after a kill; `durable` is a step that had been saved before it.
std::string problem_in(const fs::path& root, int durable, const Chain& chain, const Reference& reference) {
  const checkpoint::CheckpointFolder folder(root);
  const std::vector<fs::path> all = folder.list();
  if (all.empty()) return durable > 0 ? concat("step ", durable, " was saved and is gone; ") : "";
  try {
    for (const fs::path& each : all) checkpoint::verify(each);
    if (folder.latest() != all.back()) return "the newest is not the latest; ";
    const nlohmann::json state = checkpoint::load_state(all.back());
    const int step = state.at("step").get<int>();
    if (step < durable) return concat("step ", durable, " was saved, the newest is ", step, "; ");
    const nlohmann::json expected = checkpoint::load_state(reference.checkpoint(step));
    if (all.back().filename().string().find(reference.checkpoint(step).filename().string()) != 0)
      return concat(all.back().string(), " holds step ", step, "; ");
    for (const char* part : {"optimizer_steps", "sampler"})
      if (state.at(part) != expected.at(part)) return concat(all.back().string(), ": another ", part, "; ");
    return chain.has_fixed_world ? difference_from(reference, all.back(), step) : "";
  } catch (const std::exception& error) {
    return concat(error.what(), "; ");
  }
}

/// The results of one chain.
struct Progress {
  fs::path root;
  std::map<int, std::string> samples = {};
  int kills = 0;
  int torn_saves = 0;  ///< Kills that left a folder half written or half removed.
  int saved = 0;       ///< The newest step that was saved before some kill.
  int fruitless = 0;   ///< Kills in a row before which no further step was saved.
  bool is_complete = false;
  std::string problem = {};
};

// Leftovers of a killed writer; the next save, or the end of the training, removes it.
std::string leftovers_in(const fs::path& root) {
  std::string names;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".") && name != ".writer_lock") names += name + "; ";  // the lock's file stays
  }
  return names;
}

// The training is complete: all it did is what the run that was never killed did, and what killed writers left is gone.
void check_complete(Progress& progress, const Chain& chain, const Reference& reference) {
  progress.is_complete = true;
  progress.problem += leftovers_in(progress.root);
  for (const auto& [step, samples] : progress.samples)
    if (samples != reference.samples.at(step)) progress.problem += concat("step ", step, " had other samples; ");
  const auto last = checkpoint::CheckpointFolder(progress.root).latest();
  if (!last || checkpoint::load_state(*last).at("step") != kSteps) progress.problem += "it is not complete; ";
  if (chain.has_fixed_world && last) progress.problem += difference_from(reference, *last, kSteps);
}

/// The process that was killed.
struct Kill {
  bool was_delivered = false;  ///< Else the job had ended before.
  std::vector<pid_t> family;   ///< The processes of the job at that moment.
};

// Waits for a random moment, then kills. The longer no kill has left a further step, the longer it may wait: on a slow
// machine a training would else never come as far as the next step.
Kill kill_at_random(test::Subprocess& job, int victim, int fruitless, std::mt19937& random) {
  const bool waits_for_ready = victim != kLauncher || random() % 2 == 0;  // else: while it starts or loads
  pid_t pid = job.pid();
  if (waits_for_ready) {
    const std::string mark = concat("[rank ", std::max(victim, 0), "] ready pid ");
    if (!job.wait_for_output(mark)) return {};
    if (victim != kLauncher) pid = static_cast<pid_t>(std::stol(job.out().substr(job.out().find(mark) + mark.size())));
  }
  std::this_thread::sleep_for(
      std::chrono::microseconds(random() % (kLongestMs * 1000 * static_cast<unsigned>(1 + fruitless))));
  std::vector<pid_t> family = descendants_of(job.pid());
  return {test::signal_process(pid, SIGKILL), std::move(family)};
}

// One start of the training, killed on its way or complete.
void run_trial(Progress& progress, const Chain& chain, const Reference& reference, std::mt19937& random) {
  const int world_size = chain.has_fixed_world ? chain.world_size : 1 + static_cast<int>(random() % 3);
  const auto dice = random() % 10;  // rank 0 writes, so it is the victim half of the time
  const int victim = dice < 5   ? 0
                     : dice < 8 ? static_cast<int>(random() % static_cast<unsigned>(world_size))
                                : kLauncher;
  auto job = start(progress.root, world_size, 2, chain);
  const Kill kill = kill_at_random(job, victim, progress.fruitless, random);
  const test::Finished finished = job.wait();
  if (!test::wait_until_gone(kill.family).empty()) progress.problem += "processes are left; ";
  collect_samples(finished.out, progress.samples);
  if (finished.out.find("finished\n") != std::string::npos) {
    check_complete(progress, chain, reference);
    return;
  }
  if (!kill.was_delivered) progress.problem += "it ended by itself: " + finished.err;
  ++progress.kills;
  if (!leftovers_in(progress.root).empty()) ++progress.torn_saves;
  const int saved = last_number_after(finished.out, "] saved ");
  progress.fruitless = saved > progress.saved ? 0 : progress.fruitless + 1;
  progress.saved = std::max(progress.saved, saved);
  const int durable =
      chain.mode.ends_with("blocking") ? saved : saved - 1;  // a save in the background waits for the one before
  progress.problem += problem_in(progress.root, durable, chain, reference);
}

/// The outcomes of all chains of a test.
struct Totals {
  int kills = 0;
  int chains = 0;
  int completed = 0;
  int torn_saves = 0;
};

// Kills one training until it is complete.
void run_chain(Totals& totals, const Chain& chain, const Reference& reference, std::mt19937& random) {
  const test::TemporaryFolder folder;
  Progress progress{.root = folder / "checkpoints"};
  fs::create_directories(progress.root);
  while (!progress.is_complete && progress.problem.empty()) {
    CAPTURE(chain.number, chain.mode, chain.optimizer, chain.has_fixed_world, progress.kills);
    run_trial(progress, chain, reference, random);
    CHECK(progress.problem == "");
  }
  totals.kills += progress.kills;
  totals.torn_saves += progress.torn_saves;
  ++totals.chains;
  totals.completed += progress.is_complete ? 1 : 0;
}

void print(const Totals& totals) {
  std::cout << totals.kills << " kills, " << totals.torn_saves << " of them in the middle of a save, in "
            << totals.chains << " training runs, of which " << totals.completed << " were completed" << std::endl;
}

std::map<std::string, Reference> record_both(int world_size) {
  std::map<std::string, Reference> references;
  for (const char* optimizer : {"sgd", "adamw"}) {
    record(references[optimizer], optimizer, world_size);
    INFO(references[optimizer].error);
    REQUIRE(references[optimizer].samples.size() == kSteps);
  }
  return references;
}

}  // namespace

TEST_CASE("SIGKILL at any moment of a training leaves checkpoints from which it goes on bit for bit",
          "[integration][checkpoint][multirank]") {
  const std::map<std::string, Reference> references = record_both(kWorldSize);
  std::mt19937 random(20261121U);
  Totals totals;
  while (totals.kills < trials()) {
    const Chain chain{.mode = totals.chains % 2 == 0 ? "background" : "blocking",
                      .optimizer = totals.chains / 2 % 2 == 0 ? "adamw" : "sgd",
                      .has_fixed_world = totals.chains % 3 != 2,
                      .number = totals.chains};
    run_chain(totals, chain, references.at(chain.optimizer), random);
  }
  if (trials() > 100) print(totals);
}

// The oracle is a run of DDP, which sharded ranks must equal bit for bit.
TEST_CASE("SIGKILL at any moment of a sharded training leaves checkpoints from which it goes on bit for bit",
          "[integration][checkpoint][sharded][multirank]") {
  const std::map<std::string, Reference> references = record_both(kShardedWorldSize);
  const int kills = static_cast<int>(environment::get_int("LOCKSTEP_KILLS", 1, 200).value_or(12));
  std::mt19937 random(20261126U);
  Totals totals;
  while (totals.kills < kills) {
    const Chain chain{.mode = totals.chains % 2 == 0 ? "sharded_blocking" : "sharded_background",
                      .optimizer = totals.chains / 2 % 2 == 0 ? "adamw" : "sgd",
                      .has_fixed_world = totals.chains % 3 != 2,
                      .number = totals.chains,
                      .world_size = kShardedWorldSize};
    run_chain(totals, chain, references.at(chain.optimizer), random);
  }
  if (kills > 100) print(totals);
}
