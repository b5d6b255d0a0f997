#include "07_launch_and_survive/1_who_am_i/who_am_i.hpp"

namespace lockstep::elastic {

Place read_place(const Variables& variables, const LauncherNames& names) {
  Place place{.launcher = names.launcher};
  // SOLUTION(07.1) read_place: read all three, and refuse what contradicts itself
  const auto read = [&](const char* name, int minimum, int maximum) {
    const std::optional<int> value = number_in(variables, name, minimum, maximum);
    if (!value)
      throw FormatError(concat(name, " is not set, but other variables of ", names.launcher, " are; ", names.launcher,
                               " sets ", names.rank, ", ", names.world_size, " and ", names.local_rank));
    return *value;
  };
  place.world_size = read(names.world_size, 1, kMaxWorldSize);
  place.rank = read(names.rank, 0, kMaxWorldSize - 1);
  place.local_rank = read(names.local_rank, 0, kMaxWorldSize - 1);
  const std::string rank = concat(names.rank, "=", place.rank);
  if (place.rank >= place.world_size)
    throw FormatError(concat(rank, " is out of range: with ", names.world_size, "=", place.world_size,
                             " ranks are 0 to ", place.world_size - 1));
  if (place.local_rank > place.rank)
    throw FormatError(concat(rank, " cannot have ", names.local_rank, "=", place.local_rank,
                             ": so many ranks of this host come before it"));
  // END SOLUTION
  return place;
}

Place find_place(const Variables& variables) {
  // SOLUTION(07.1) find_place: choose the launcher, and refuse what others contradict
  const auto is_set = [&](const char* name) { return variables.contains(name); };
  if (is_set(kTorchrun.rank)) {
    Place place = read_place(variables, kTorchrun);
    if (is_set(kTorchrunJob) || !is_set(kOpenMpi.rank)) return place;
    const Place other = read_place(variables, kOpenMpi);
    if (place.rank == other.rank && place.world_size == other.world_size) return place;
    throw FormatError(concat(kTorchrun.rank, "=", place.rank, ", ", kTorchrun.world_size, "=", place.world_size,
                             " and ", kOpenMpi.rank, "=", other.rank, ", ", kOpenMpi.world_size, "=", other.world_size,
                             " contradict each other; unset ", kTorchrun.rank));
  }
  if (is_set(kOpenMpi.rank)) return read_place(variables, kOpenMpi);
  if (is_set(kSlurm.rank) && is_set(kSlurmStep)) return read_place(variables, kSlurm);
  for (const LauncherNames& names : {kTorchrun, kOpenMpi})
    if (is_set(names.world_size) || is_set(names.local_rank))
      return read_place(variables, names);  // says what is missing
  return {};
  // END SOLUTION
}

}  // namespace lockstep::elastic
