// rank_helper WORLD_SIZE TASK RANK: starts its ranks with launch::spawn(). All of them reduce over the ring until
// something goes wrong; the task says what goes wrong at RANK.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"

namespace {

using namespace lockstep;

// Of 2 ms each, by task; the others go on until something goes wrong.
const std::map<std::string, int> kRounds = {{"finite", 200}, {"long", 1500}};

[[noreturn]] void stay_away() {
  while (true) pause();
}

int run_rank(const std::string& task, int victim) {
  const bool is_victim = std::stoi(std::getenv("RANK")) == victim;
  if (task == "absent" && is_victim) stay_away();
  const comm::JobContext job = comm::rendezvous("env://");
  const auto group = backend::make_process_group("auto", job);
  std::vector<float> values(100'000, 1.0F);
  const auto rounds = kRounds.find(task);
  for (int round = 0; rounds == kRounds.end() || round < rounds->second; ++round) {
    group->all_reduce(comm::host_buffer(std::span(values)), comm::ReduceOp::kMean).synchronize();
    if (round == 0)
      std::cout << "ready pid " << getpid() << " store " << environment::get("LOCKSTEP_STORE").value_or("none")
                << std::endl;
    if (task == "late" && is_victim && round == 5) throw Error("this rank's own error");
    if (rounds != kRounds.end()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (task == "disagree" && is_victim && round == 5)
      group->broadcast(comm::host_buffer(std::span(values)), 0).synchronize();
  }
  std::cout << "finished" << std::endl;
  return 0;
}

// "late": the others have long been told, and have ended, when the victim's process ends.
int end_late(const std::string& task, int victim) try { return run_rank(task, victim); } catch (const Error&) {
  if (task == "late" && std::stoi(std::getenv("RANK")) == victim)
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  throw;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return run_guarded("rank_helper", [&] {
    return launch::spawn([&] { return end_late(argv[2], std::stoi(argv[3])); }, std::stoi(argv[1]));
  });
}
