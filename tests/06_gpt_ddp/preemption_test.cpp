// A training that has to make room: all ranks stop after the same step, save, and exit with the code that requeues.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/processes.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

std::vector<std::string> training(const fs::path& folder, const std::string& steps,
                                  const std::vector<std::string>& launch_options) {
  test::write_words(folder / "text.txt", 4000);
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", "2"};
  command.insert(command.end(), launch_options.begin(), launch_options.end());
  for (const std::string& argument :
       {std::string("--"), test::built_program("train_gpt_ddp"), std::string("--data"), (folder / "text.txt").string(),
        std::string("--steps"), steps, std::string("--batch-size"), std::string("4"), std::string("--validate-every"),
        std::string("0"), std::string("--save-every"), std::string("0"), std::string("--sample-tokens"),
        std::string("0"), std::string("--out"), (folder / "runs").string()})
    command.push_back(argument);
  return command;
}

// The descendant of `launcher` that is this rank; -1: none.
pid_t find_rank(pid_t launcher, const std::string& rank) {
  using namespace std::string_literals;
  for (const pid_t pid : descendants_of(launcher)) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
    const std::string environment = "\0"s + std::string(std::istreambuf_iterator<char>(file), {});
    if (environment.find("\0RANK="s + rank + "\0"s) != std::string::npos) return pid;
  }
  return -1;
}

}  // namespace

TEST_CASE("a preempted training saves the step that all ranks have done, exits with 75, and can be resumed",
          "[ddp][preemption]") {
  const test::TemporaryFolder folder;
  // To the launcher as Slurm's B: does, or to one rank, which the others have to agree with.
  const bool is_to_rank = GENERATE(false, true);
  test::Subprocess job(training(folder.path(), "1000000", {"--preempt-signal", "SIGUSR2"}), {{"OMP_NUM_THREADS", "1"}});
  REQUIRE(job.wait_for_output("step       1/1000000", std::chrono::seconds(60)));
  const pid_t receiver = is_to_rank ? find_rank(job.pid(), "1") : job.pid();
  REQUIRE(receiver > 0);
  test::signal_process(receiver, SIGUSR2);
  const test::Finished stopped = job.wait();
  INFO(stopped.out << stopped.err);
  CHECK(stopped.exit_code == 75);
  CHECK_THAT(stopped.err, ContainsSubstring("all ranks have stopped in good order"));
  const fs::path run = run::latest_run(folder / "runs").value();
  CHECK_THAT(stopped.out, ContainsSubstring("--resume " + run.string()));
  const auto done = run::read_metrics(run / "metrics.jsonl").size();
  std::vector<std::string> resume{test::built_program("lockstep"),
                                  "launch",
                                  "--nproc",
                                  "2",
                                  "--",
                                  test::built_program("train_gpt_ddp"),
                                  "--resume",
                                  run.string(),
                                  "--stop-after",
                                  std::to_string(done + 2)};
  const test::Finished resumed = test::run_program(resume, {{"OMP_NUM_THREADS", "1"}});
  INFO(resumed.out << resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.out, ContainsSubstring("resumed at step " + std::to_string(done) + "\n"));
  CHECK(run::read_metrics(run / "metrics.jsonl").size() == done + 2);
}
