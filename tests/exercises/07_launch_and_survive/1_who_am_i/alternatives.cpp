#include "exercise/alternatives.hpp"

#include "07_launch_and_survive/1_who_am_i/who_am_i.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"table_of_candidates", "a loop over the launchers, with the condition of each"},
    {"reads_all_then_compares",
     "every launcher that has set a rank is read, and the first one counts after the comparison"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_alternative;

Place read_place(const Variables& variables, const LauncherNames& names) {
  const auto number = [&](const char* name, int least) {
    if (const auto value = number_in(variables, name, least, kMaxWorldSize)) return *value;
    throw FormatError(concat("please set ", name));
  };
  const int local = number(names.local_rank, 0), rank = number(names.rank, 0), ranks = number(names.world_size, 1);
  if (ranks <= rank)
    throw FormatError(concat(names.world_size, "=", ranks, " has no place for ", names.rank, "=", rank));
  if (rank < local) throw FormatError(concat(names.local_rank, "=", local, " exceeds ", names.rank, "=", rank));
  return {names.launcher, rank, ranks, local};
}

namespace {

void require_no_contradiction(const Variables& variables, const Place& torchrun) {
  const Place mpi = read_place(variables, kOpenMpi);
  if (mpi.rank == torchrun.rank && mpi.world_size == torchrun.world_size) return;
  throw FormatError(concat("RANK=", torchrun.rank, " of WORLD_SIZE=", torchrun.world_size,
                           ", but OMPI_COMM_WORLD_RANK=", mpi.rank, " of OMPI_COMM_WORLD_SIZE=", mpi.world_size));
}

}  // namespace

Place find_place(const Variables& variables) {
  const auto has = [&](const char* name) { return variables.find(name) != variables.end(); };
  if (is_alternative("reads_all_then_compares") && has("RANK") && has("OMPI_COMM_WORLD_RANK") && !has(kTorchrunJob)) {
    const Place place = read_place(variables, kTorchrun);
    require_no_contradiction(variables, place);
    return place;
  }
  for (const LauncherNames* names : {&kTorchrun, &kOpenMpi, &kSlurm}) {
    if (!has(names->rank) || (names == &kSlurm && !has(kSlurmStep))) continue;
    const Place place = read_place(variables, *names);
    if (names == &kTorchrun && has(kOpenMpi.rank) && !has(kTorchrunJob)) require_no_contradiction(variables, place);
    return place;
  }
  for (const char* name : {"WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"})
    if (has(name))
      throw FormatError(concat(name, "=", variables.at(name), " is set, but RANK and OMPI_COMM_WORLD_RANK are not"));
  return Place{};
}

}  // namespace lockstep::elastic
