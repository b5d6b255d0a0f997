#include <csignal>
#include <memory>

#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep::test;

namespace {

// Runs one process per rank; each has device 0 of its own.
std::vector<Finished> run_processes(int size, const std::string& end) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<Subprocess>> processes;
  for (int rank = 0; rank < size; ++rank) {
    processes.push_back(std::make_unique<Subprocess>(std::vector<std::string>{
        built_program("nccl_process"), std::to_string(rank), std::to_string(size), folder.path().string(), end}));
  }
  std::vector<Finished> finished;
  for (const auto& process : processes) finished.push_back(process->wait(std::chrono::seconds(30)));
  return finished;
}

}  // namespace

TEST_CASE("ranks in processes of their own add across them, and end with or without destroying", "[emulated_nccl]") {
  for (const std::string end : {"destroy", "exit"}) {
    for (const Finished& rank : run_processes(3, end)) {
      CHECK(rank.exit_code == 0);
      CHECK(rank.out == "sum 6 6\n");
      CHECK(rank.err.empty());
    }
  }
}

TEST_CASE("a process that ends while its stream hangs in a collective does end", "[emulated_nccl]") {
  const Finished alone = run_processes(1, "hang").front();
  CHECK(alone.exit_code == 0);
  const auto finished = run_processes(2, "hang");
  for (const Finished& rank : finished) CHECK(rank.exit_code == 0);
}

TEST_CASE("a process that is killed is the others' remote error", "[emulated_nccl]") {
  const auto finished = run_processes(3, "die");
  CHECK(finished[2].exit_code == 128 + SIGKILL);
  for (const int rank : {0, 1}) {
    CHECK(finished[rank].exit_code == 0);
    CHECK(finished[rank].out == "sum 6 6\nasync error 6\n");
  }
}
