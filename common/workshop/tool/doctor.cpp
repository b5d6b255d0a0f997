#include <iostream>
#include <string>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "launch/spawn.hpp"
#include "tool/command.hpp"
#include "tool/machine_report.hpp"
#include "tool/project.hpp"
#include "tool/self_test.hpp"

namespace lockstep::tool {
namespace {

constexpr const char* kFooter =
    "The report holds no secrets: no tokens, no addresses. --test starts ranks on this machine. To test a cluster, "
    "start\n"
    "--test as one rank per node or GPU: with srun, mpirun or torchrun, or by hand on each node,\n"
    "  RANK=0 WORLD_SIZE=2 MASTER_ADDR=host0 MASTER_PORT=29500 LOCKSTEP_INTERFACE=eth0 "
    "LOCKSTEP_TOKEN_FILE=token\n"
    "  ./lockstep doctor --test     (RANK=1 on the other; the file token is the same on all nodes)";

void print_report() {
  std::string troubles;
  for (const FactGroup& group : describe_machine()) {
    std::cout << group.title << "\n";
    for (const Fact& fact : group.facts) {
      constexpr std::size_t kColumn = 20;
      const std::size_t blanks = fact.name.size() < kColumn ? kColumn - fact.name.size() : 1;
      std::cout << "  " << fact.name << std::string(blanks, ' ') << fact.value << "\n";
      if (!fact.trouble.empty()) troubles += "  " + fact.name + ": " + fact.trouble + "\n";
    }
  }
  if (!troubles.empty()) std::cout << "to look at\n" << troubles;
  std::cout << std::flush;
}

// Only one of several ranks reports, whichever launcher started them.
bool is_first_rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const auto rank = environment::get(name)) return *rank == "0";
  }
  return true;
}

}  // namespace

int doctor(const Arguments& arguments) {
  bool is_test = false;
  std::string ranks = "2";
  double limit_s = 55;
  CommandLine app(
      "Says what this machine has, and what is missing: a report to paste into a question. With --test it also says,\n"
      "within a minute, whether this machine can train.",
      "lockstep doctor");
  app.add_flag("--test", is_test, "Train a tiny model as several ranks, with every backend, and compare");
  app.add_option("--num-processes,--num_processes,--nproc", ranks, "Ranks of the test");
  app.add_option("--limit", limit_s, "Seconds that the test may take").check(positive_seconds());
  app.footer(as_typed(kFooter));
  if (const auto done = app.parse(arguments)) return *done;
  const int world_size = parse_rank_count(ranks, "--num-processes");
  const bool is_rank = launch::is_rank();
  if (!is_rank || is_first_rank()) print_report();
  if (!is_test) {
    std::cout << as_typed("./lockstep doctor --test says whether this machine can train\n");
    return 0;
  }
  if (is_rank) join_self_test(limit_s);
  return run_self_tests(world_size, limit_s);
}

}  // namespace lockstep::tool
