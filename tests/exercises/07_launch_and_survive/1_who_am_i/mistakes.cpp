#include <cstdlib>

#include "07_launch_and_survive/1_who_am_i/who_am_i.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_launcher_is_an_error", "a process that no launcher has started is refused",
     "Everybody tries a program without a launcher first. It is rank 0 of 1."},
    {"rank_0_by_default", "a process whose rank is missing takes itself for rank 0",
     "If WORLD_SIZE or LOCAL_RANK is set, somebody meant to start several. A missing RANK is an error then."},
    {"local_rank_0_by_default", "a missing local rank is taken for 0",
     "All ranks of a host would use its first device. Refuse it."},
    {"local_rank_is_rank", "the rank is used as the local rank",
     "That is right on the first host only: rank 5 of two hosts with 4 devices each has no device 5."},
    {"world_size_1_by_default", "a missing world size is taken for 1",
     "Each rank would train alone, and save over the others' checkpoints. Refuse it."},
    {"rank_may_be_negative", "a negative rank or local rank is accepted",
     "The smallest rank is 0: number_in() takes the smallest and the largest value."},
    {"compares_ranks_only", "torchrun's and Open MPI's ranks are compared, but not their world sizes",
     "Equal ranks of jobs of different sizes are a contradiction, too."},
    {"no_number_is_0", "a text that is no number is read as 0, as atoi() does",
     "number_in() refuses it; give it the smallest and largest value that make sense."},
    {"rank_may_equal_world_size", "a rank that equals the world size is accepted",
     "Ranks are counted from 0. What is the last one of 4?"},
    {"any_local_rank", "a local rank that is larger than the rank is accepted",
     "Rank 0 cannot be the third on its host. Somebody has set RANK=0 for all processes."},
    {"slurm_before_mpi", "Slurm's variables come before Open MPI's",
     "mpirun in a Slurm job starts one Slurm task per host, and every rank inherits that task's variables."},
    {"slurm_before_torchrun", "a task of srun is taken for a rank, though it is a torchrun that has started ranks",
     "Every rank inherits the task's variables. If RANK is set, all three come from torchrun."},
    {"batch_script_is_a_rank", "a batch script's own shell is taken for rank 0 of the job",
     "Only the tasks of srun are ranks; for them SLURM_STEP_ID is set."},
    {"mixes_launchers", "each variable is taken from the first launcher that has set it",
     "Choose the launcher by its variable of the rank, and take all three from it."},
    {"believes_rank", "RANK is believed although mpirun says otherwise",
     "RANK=0 in a shell's profile makes every process rank 0. Compare it with Open MPI's variables."},
    {"refuses_nested_launchers", "torchrun is refused if mpirun has started it",
     "Then Open MPI counts hosts, and torchrun counts ranks: TORCHELASTIC_RUN_ID says so."},
    {"message_without_names", "the message does not say which variable is wrong, or what is in it",
     "An operator sees one line from a hundred machines: put NAME=value into it."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {
namespace {

using exercise::is_mistake;

[[noreturn]] void fail(const std::string& message) {
  throw FormatError(is_mistake("message_without_names") ? "the environment is not what it should be" : message);
}

int read(const Variables& variables, const char* name, int minimum, std::optional<int> by_default = {}) {
  if (is_mistake("no_number_is_0") && variables.contains(name)) return std::atoi(variables.at(name).c_str());
  try {
    const int least = is_mistake("rank_may_be_negative") && minimum == 0 ? -kMaxWorldSize : minimum;
    const std::optional<int> value = number_in(variables, name, least, kMaxWorldSize);
    if (value || by_default) return value ? *value : *by_default;
  } catch (const FormatError& error) {
    fail(error.what());
  }
  fail(concat(name, " is not set"));
}

std::optional<int> instead_of_missing(const char* mistake, int value) {
  return is_mistake(mistake) ? std::optional(value) : std::nullopt;
}

}  // namespace

Place read_place(const Variables& variables, const LauncherNames& names) {
  Place place{.launcher = names.launcher};
  place.world_size = read(variables, names.world_size, 1, instead_of_missing("world_size_1_by_default", 1));
  place.rank = read(variables, names.rank, 0, instead_of_missing("rank_0_by_default", 0));
  place.local_rank = read(variables, names.local_rank, 0, instead_of_missing("local_rank_0_by_default", 0));
  if (is_mistake("local_rank_is_rank")) place.local_rank = place.rank;
  if (place.rank >= place.world_size + (is_mistake("rank_may_equal_world_size") ? 1 : 0))
    fail(concat(names.rank, "=", place.rank, " is out of range: ", names.world_size, "=", place.world_size));
  if (place.local_rank > place.rank && !is_mistake("any_local_rank"))
    fail(concat(names.rank, "=", place.rank, " cannot have ", names.local_rank, "=", place.local_rank));
  return place;
}

namespace {

// As `get("RANK") or get("OMPI_COMM_WORLD_RANK") or get("SLURM_PROCID")`, for each of the three.
Place mixed_place(const Variables& variables) {
  const auto first_of = [&](const char* LauncherNames::*variable) -> const LauncherNames& {
    for (const LauncherNames* names : {&kTorchrun, &kOpenMpi})
      if (variables.contains(names->*variable)) return *names;
    return variables.contains(kSlurm.*variable) ? kSlurm : kTorchrun;
  };
  const LauncherNames& rank = first_of(&LauncherNames::rank);
  return read_place(variables, {rank.launcher, rank.rank, first_of(&LauncherNames::world_size).world_size,
                                first_of(&LauncherNames::local_rank).local_rank});
}

Place nested_place(const Variables& variables) {
  Place place = read_place(variables, kTorchrun);
  const bool is_nested = variables.contains(kTorchrunJob) && !is_mistake("refuses_nested_launchers");
  if (is_nested || !variables.contains(kOpenMpi.rank) || is_mistake("believes_rank")) return place;
  const Place other = read_place(variables, kOpenMpi);
  const bool has_sizes = !is_mistake("compares_ranks_only");
  if (place.rank != other.rank || (has_sizes && place.world_size != other.world_size))
    fail(concat(kTorchrun.rank, "=", place.rank, " and ", kOpenMpi.rank, "=", other.rank, ", ", kTorchrun.world_size,
                "=", place.world_size, " and ", kOpenMpi.world_size, "=", other.world_size));
  return place;
}

}  // namespace

Place find_place(const Variables& variables) {
  const auto is_set = [&](const char* name) { return variables.contains(name); };
  const bool is_step = is_set(kSlurmStep) || is_mistake("batch_script_is_a_rank");
  const bool is_of_slurm = is_set(kSlurm.rank) && is_step;
  if (is_mistake("mixes_launchers") && (is_set(kTorchrun.rank) || is_set(kOpenMpi.rank) || is_of_slurm))
    return is_set(kTorchrun.rank) && is_set(kOpenMpi.rank) ? nested_place(variables) : mixed_place(variables);
  if (is_of_slurm && is_set(kTorchrun.rank) && is_mistake("slurm_before_torchrun"))
    return read_place(variables, kSlurm);
  if (is_set(kTorchrun.rank)) return nested_place(variables);
  if (is_of_slurm && is_mistake("slurm_before_mpi")) return read_place(variables, kSlurm);
  if (is_set(kOpenMpi.rank)) return read_place(variables, kOpenMpi);
  if (is_of_slurm) return read_place(variables, kSlurm);
  for (const LauncherNames& names : {kTorchrun, kOpenMpi})
    if (is_set(names.world_size) || is_set(names.local_rank)) return read_place(variables, names);
  if (is_mistake("no_launcher_is_an_error")) fail("RANK is not set");
  return {};
}

}  // namespace lockstep::elastic
