#include <array>
#include <map>
#include <string>

#include "07_launch_and_survive/1_who_am_i/who_am_i.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_07_1 {

using elastic::kOpenMpi;
using elastic::kSlurm;
using elastic::kSlurmStep;
using elastic::kTorchrun;
using elastic::kTorchrunJob;
using elastic::LauncherNames;
using elastic::Place;
using elastic::Variables;

constexpr std::array kLaunchers = {kTorchrun, kOpenMpi, kSlurm};

// The variables that a launcher sets.
Variables told(const LauncherNames& names, int rank, int world_size, int local_rank) {
  Variables variables = {{names.rank, std::to_string(rank)},
                         {names.world_size, std::to_string(world_size)},
                         {names.local_rank, std::to_string(local_rank)}};
  if (names.rank == std::string(kSlurm.rank)) variables[kSlurmStep] = "0";
  return variables;
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

Variables together(Variables variables, const Variables& others) {
  variables.insert(others.begin(), others.end());
  return variables;
}

std::string shown_as(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) text += concat(text.empty() ? "" : " ", name, "=", value);
  return text.empty() ? "no launcher's variables" : text;
}

const Outcome& ask(Check& check, const Variables& variables, bool wants_message = false) {
  return check.run({.question = [&](int) {
    nlohmann::json question = {{kSlurmStep, ""}, {kTorchrunJob, ""}, {"wants_message", wants_message}};
    for (const LauncherNames& names : kLaunchers)
      for (const char* name : {names.rank, names.world_size, names.local_rank}) question[name] = "";
    for (const auto& [name, value] : variables) question[name] = value;
    return question;
  }});
}

std::string ending_of(Check& check, const Outcome& outcome) {
  const auto ending = check.get<std::string>(outcome, 0, "ending");
  if (ending != "a place") {
    const std::string& message = outcome.ranks.front().output;
    return concat(ending, ": ", message.substr(0, message.find_last_not_of('\n') + 1));
  }
  const auto launcher = check.get<std::string>(outcome, 0, "launcher");
  return concat("rank ", check.get<int>(outcome, 0, "rank"), " of ", check.get<int>(outcome, 0, "world_size"),
                ", local rank ", check.get<int>(outcome, 0, "local_rank"),
                launcher.empty() ? ", from nobody" : concat(", from ", launcher));
}

void check_place(Check& check, const Variables& variables, const Place& wanted) {
  const Outcome& outcome = ask(check, variables);
  const std::string got = ending_of(check, outcome);
  const std::string expected =
      concat("rank ", wanted.rank, " of ", wanted.world_size, ", local rank ", wanted.local_rank,
             wanted.launcher.empty() ? ", from nobody" : concat(", from ", wanted.launcher));
  if (got != expected) check.wrong(concat("with ", shown_as(variables), ": expected ", expected, "; got ", got));
}

// Of told().
void check_told(Check& check, const LauncherNames& names, const Variables& variables, int rank, int world_size,
                int local_rank) {
  check_place(check, variables,
              {.launcher = names.launcher, .rank = rank, .world_size = world_size, .local_rank = local_rank});
}

const Outcome& check_refused(Check& check, const Variables& variables, bool wants_message = false) {
  const Outcome& outcome = ask(check, variables, wants_message);
  if (check.get<std::string>(outcome, 0, "ending") != "FormatError")
    check.wrong(
        concat("with ", shown_as(variables), " a FormatError should be thrown; got ", ending_of(check, outcome)));
  return outcome;
}

void check_message(Check& check, const Variables& variables, const std::vector<std::string>& words) {
  const auto message = check.get<std::string>(check_refused(check, variables, true), 0, "message");
  for (const std::string& word : words)
    if (message.find(word) == std::string::npos)
      check.wrong(
          concat("with ", shown_as(variables), " the message should contain \"", word, "\"; it is \"", message, "\""));
}

void check_each_launcher(Check& check) {
  for (const LauncherNames& names : kLaunchers) {
    check_told(check, names, told(names, 3, 8, 3), 3, 8, 3);
    check_told(check, names, told(names, 5, 8, 1), 5, 8, 1);
    check_told(check, names, told(names, 0, 1, 0), 0, 1, 0);
  }
}

void check_missing(Check& check) {
  const Variables torchrun = told(kTorchrun, 5, 8, 1), open_mpi = told(kOpenMpi, 5, 8, 1);
  for (const char* name : {kTorchrun.rank, kTorchrun.world_size, kTorchrun.local_rank})
    check_refused(check, without(torchrun, name));
  for (const char* name : {kOpenMpi.rank, kOpenMpi.world_size, kOpenMpi.local_rank})
    check_refused(check, without(open_mpi, name));
  for (const char* name : {kSlurm.world_size, kSlurm.local_rank})
    check_refused(check, without(told(kSlurm, 5, 8, 1), name));
  for (const LauncherNames& names : kLaunchers)  // 0 fits every world size
    check_refused(check, without(told(names, 0, 8, 0), names.world_size));
  check_refused(check, {{kTorchrun.world_size, "4"}});
  check_refused(check, {{kOpenMpi.local_rank, "2"}});
}

void check_numbers(Check& check) {
  for (const LauncherNames& names : kLaunchers) {
    const Variables right = told(names, 1, 4, 0);
    check_refused(check, with(right, names.rank, "one"));
    check_refused(check, with(right, names.world_size, "4x"));
    check_refused(check, with(right, names.local_rank, "-1"));
    check_refused(check, with(told(names, 0, 1, 0), names.world_size, "0"));
    check_refused(check, with(right, names.world_size, "4294967300"));
  }
}

void check_contradictions(Check& check) {
  for (const LauncherNames& names : kLaunchers) {
    check_refused(check, told(names, 4, 4, 0));
    check_refused(check, told(names, 9, 4, 1));
    check_refused(check, told(names, 0, 4, 2));
  }
}

void check_messages(Check& check) {
  const Variables by_hand = told(kTorchrun, 0, 4, 0), mpirun = told(kOpenMpi, 2, 4, 0);
  check_message(check, without(by_hand, kTorchrun.rank), {kTorchrun.rank});
  check_message(check, without(mpirun, kOpenMpi.local_rank), {kOpenMpi.local_rank});
  check_message(check, without(told(kSlurm, 1, 4, 1), kSlurm.world_size), {kSlurm.world_size});
  check_message(check, with(mpirun, kOpenMpi.world_size, "many"), {"OMPI_COMM_WORLD_SIZE=many"});
  check_message(check, told(kSlurm, 17, 4, 1), {"SLURM_PROCID=17", "SLURM_NTASKS=4"});
  check_message(check, told(kTorchrun, 0, 4, 3), {"RANK=0", "LOCAL_RANK=3"});
  check_message(check, together(by_hand, mpirun), {"RANK=0", "OMPI_COMM_WORLD_RANK=2"});
  check_message(check, together(told(kTorchrun, 2, 8, 0), mpirun), {"WORLD_SIZE=8", "OMPI_COMM_WORLD_SIZE=4"});
}

void check_random_places(Check& check) {
  PhiloxSequence random(check.seed(), 71);
  for (int round = 0; round < 5; ++round)
    for (const LauncherNames& names : kLaunchers) {
      const int world_size = 2 + static_cast<int>(random.next_below(30'000));
      const int rank = static_cast<int>(random.next_below(static_cast<std::uint64_t>(world_size)));
      const int local_rank = static_cast<int>(random.next_below(static_cast<std::uint64_t>(rank) + 1));
      check_told(check, names, told(names, rank, world_size, local_rank), rank, world_size, local_rank);
      const std::string too_large = std::to_string(world_size + rank);
      check_message(check, with(told(names, rank, world_size, local_rank), names.rank, too_large),
                    {concat(names.rank, "=", too_large), concat(names.world_size, "=", world_size)});
    }
}

}  // namespace checks_07_1

void judge_07_1(Examination& exam) {
  using namespace checks_07_1;
  const Variables by_hand = told(kTorchrun, 0, 4, 0), mpirun = told(kOpenMpi, 2, 4, 0);
  exam.check("each launcher by itself", check_each_launcher);
  exam.check("no launcher", [](Check& check) { check_place(check, {}, {}); });
  exam.check("a variable is missing", check_missing);
  exam.check("not a number, or out of range", check_numbers);
  exam.check("numbers that contradict each other", check_contradictions);
  exam.check("a batch script's shell is no rank", [](Check& check) {
    check_place(check, without(told(kSlurm, 0, 4, 0), kSlurmStep), {});
    check_told(check, kTorchrun, together(told(kTorchrun, 1, 2, 1), without(told(kSlurm, 0, 4, 0), kSlurmStep)), 1, 2,
               1);
  });
  exam.check("mpirun in a Slurm job", [&](Check& check) {
    check_told(check, kOpenMpi, together(mpirun, without(told(kSlurm, 0, 2, 0), kSlurmStep)), 2, 4, 0);
    check_told(check, kOpenMpi, together(mpirun, told(kSlurm, 1, 2, 0)), 2, 4, 0);
  });
  // srun has started a torchrun on each host, and every rank inherits the variables of that task.
  exam.check("torchrun started by srun", [](Check& check) {
    const Variables torchrun = with(told(kTorchrun, 5, 8, 1), kTorchrunJob, "none");
    check_told(check, kTorchrun, together(torchrun, told(kSlurm, 1, 2, 0)), 5, 8, 1);
  });
  exam.check("WORLD_SIZE exported by a batch script, and srun", [](Check& check) {
    check_told(check, kSlurm, with(told(kSlurm, 3, 4, 1), kTorchrun.world_size, "8"), 3, 4, 1);
    check_told(check, kOpenMpi, with(told(kOpenMpi, 3, 4, 1), kTorchrun.world_size, "8"), 3, 4, 1);
  });
  exam.check("RANK set by hand, and mpirun", [&](Check& check) {
    check_refused(check, together(by_hand, mpirun));
    check_refused(check, together(told(kTorchrun, 2, 8, 0), mpirun));
    check_told(check, kTorchrun, together(told(kTorchrun, 2, 4, 0), mpirun), 2, 4, 0);
  });
  exam.check("torchrun started by mpirun", [](Check& check) {
    const Variables torchrun = with(told(kTorchrun, 5, 8, 1), kTorchrunJob, "none");
    check_told(check, kTorchrun, together(torchrun, told(kOpenMpi, 1, 2, 0)), 5, 8, 1);
  });
  exam.check("the message has the variables' names and values", check_messages);
  exam.full_check("places chosen at random", check_random_places);
}

}  // namespace lockstep::exercise
