#include "comm/joining/job_environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/joining/init_method.hpp"

namespace lockstep::comm {
namespace {

struct Names {
  const char* launcher;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_world_size;  // empty: found differently
};

constexpr Names kPlain{"torchrun's variables", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                         "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kPmi{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names kSlurm{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""};

EnvironmentPlace read_names(const VariableLookup& lookup, const Names& names) {
  EnvironmentPlace place;
  place.launcher = names.launcher;
  place.rank = read_int(lookup, names.rank, 0, kMaxWorldSize - 1);
  place.world_size = read_int(lookup, names.world_size, 1, kMaxWorldSize);
  place.local_rank = read_int(lookup, names.local_rank, 0, kMaxWorldSize - 1);
  place.local_world_size = read_int(lookup, names.local_world_size, 1, kMaxWorldSize);
  return place;
}

void check_is_whole(const EnvironmentPlace& place, const Names& names) {
  if (place.rank && !place.world_size) {
    throw FormatError(concat(names.rank, "=", *place.rank, " is set, but the variable ", names.world_size,
                             " is not set: how many ranks are there?"));
  }
  if (place.local_world_size && !place.local_rank) {
    throw FormatError(concat(names.local_world_size, "=", *place.local_world_size, " is set, but the variable ",
                             names.local_rank, " is not set: which of them is this one?"));
  }
}

// RANK set by hand for all processes of an mpirun, say: every rank would take the same place.
void check_agreement(const VariableLookup& lookup, const EnvironmentPlace& place) {
  const bool is_nested = lookup("TORCHELASTIC_RUN_ID") || lookup("LOCKSTEP_STORE");
  if (is_nested) return;
  for (const Names& names : {kOpenMpi, kPmi}) {
    const EnvironmentPlace other = read_names(lookup, names);
    const auto check = [&](const char* own, std::optional<int> value, const char* their, std::optional<int> theirs) {
      if (!value || !theirs || value == theirs) return;
      throw FormatError(concat(own, "=", *value, " and ", their, "=", *theirs, " contradict each other; unset ", own,
                               " to join as ", names.launcher, " says"));
    };
    check(kPlain.rank, place.rank, names.rank, other.rank);
    check(kPlain.world_size, place.world_size, names.world_size, other.world_size);
  }
}

// The steps of a job that Slurm numbers itself (a batch script, an interactive shell, ...) have the highest numbers,
// starting at SLURM_MAX_NORMAL_STEP_ID in slurm.h.
constexpr std::int64_t kFirstSpecialStep = 0xFFFFFFF0;

// Nullopt unless this process is in a step started by srun: elsewhere, all processes have the variables of the whole
// job, including SLURM_PROCID=0, but the job's other tasks have not been started.
std::optional<std::int64_t> step_of_srun(const VariableLookup& lookup) {
  const auto text = lookup("SLURM_STEP_ID");
  if (!text || !lookup(kSlurm.rank)) return std::nullopt;
  const std::int64_t step = environment::parse_int("SLURM_STEP_ID", *text, 0, UINT32_MAX);
  return step < kFirstSpecialStep ? std::optional(step) : std::nullopt;
}

// Below the kernel's ephemeral ports (from 32768), above those of well-known services.
int port_of(std::uint64_t job_number) {
  constexpr int kFirstPort = 12'000, kPortCount = 16'000;
  return kFirstPort + static_cast<int>(job_number % kPortCount);
}

// FNV-1a: the same on all kinds of hosts.
std::uint64_t number_of_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3;
  return hash;
}

// With `srun --preserve-env`, SLURM_NTASKS is that of the job, which may have more tasks than the step.
void complete_from_slurm(const VariableLookup& lookup, EnvironmentPlace& place) {
  if (const auto of_step = read_int(lookup, "SLURM_STEP_NUM_TASKS", 1, kMaxWorldSize)) place.world_size = of_step;
  const auto tasks = lookup("SLURM_STEP_TASKS_PER_NODE");
  const auto node = read_int(lookup, "SLURM_NODEID", 0, kMaxWorldSize - 1);
  if (tasks && node) place.local_world_size = tasks_of_node(*tasks, *node);
}

// Derives rank 0's address in a job of mpirun or srun.
void find_meeting_point(const VariableLookup& lookup, EnvironmentPlace& place) {
  const auto step_nodes = lookup("SLURM_STEP_NODELIST");
  const auto nodes = step_nodes ? step_nodes : lookup("SLURM_NODELIST");
  const bool is_one_host = place.local_world_size && place.local_world_size == place.world_size;
  if (is_one_host)
    place.host = "127.0.0.1";
  else if (nodes)
    place.host = first_host_of(*nodes);
  if (const auto job = read_int(lookup, "SLURM_JOB_ID", 0, INT32_MAX)) {
    const std::int64_t step = step_of_srun(lookup).value_or(0);
    place.port = port_of(static_cast<std::uint64_t>(*job) * 31 + static_cast<std::uint64_t>(step));  // steps differ
    return;
  }
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (const auto job = lookup(name)) {
      place.port = port_of(number_of_text(*job));
      return;
    }
  }
}

}  // namespace

std::optional<int> read_int(const VariableLookup& lookup, const std::string& name, std::int64_t minimum,
                            std::int64_t maximum) {
  const auto text = name.empty() ? std::nullopt : lookup(name);
  if (!text) return std::nullopt;
  return static_cast<int>(environment::parse_int(name, *text, minimum, maximum));
}

EnvironmentPlace read_place(const VariableLookup& lookup) {
  EnvironmentPlace plain = read_names(lookup, kPlain);
  check_agreement(lookup, plain);
  for (const Names& names : {kOpenMpi, kPmi, kSlurm}) {
    if (plain.rank || !lookup(names.rank)) continue;
    const bool is_slurm = names.launcher == kSlurm.launcher;
    if (is_slurm && !step_of_srun(lookup)) continue;
    EnvironmentPlace place = read_names(lookup, names);
    if (is_slurm) complete_from_slurm(lookup, place);
    check_is_whole(place, names);
    find_meeting_point(lookup, place);
    return place;
  }
  if (!plain.rank) plain.launcher.clear();
  check_is_whole(plain, kPlain);
  return plain;
}

bool is_started_as_rank() {
  const auto is_set = [](const char* name) { return environment::get(name).has_value(); };
  if (is_set(kPlain.rank) && is_set(kPlain.world_size)) return true;
  if (is_set(kOpenMpi.rank) || is_set(kPmi.rank)) return true;
  if (!step_of_srun(environment::get)) return false;
  const auto of_step = environment::get("SLURM_STEP_NUM_TASKS");
  return (of_step ? of_step : environment::get(kSlurm.world_size)).value_or("1") != "1";
}

std::string first_host_of(const std::string& node_list) {
  std::string host;
  const auto fail = [&] { throw FormatError(concat("Slurm's list of nodes '", node_list, "' cannot be read")); };
  for (std::size_t at = 0; at < node_list.size() && node_list[at] != ','; ++at) {
    if (node_list[at] == ']') fail();
    if (node_list[at] != '[') {
      host.push_back(node_list[at]);
      continue;
    }
    const std::size_t close = node_list.find(']', at);
    const std::size_t end = node_list.find_first_of(",-]", at);
    if (close == std::string::npos || end == at + 1) fail();  // not closed, or nothing in it
    host += node_list.substr(at + 1, end - at - 1);           // without the bracket
    at = close;
  }
  if (host.empty()) fail();
  return host;
}

int tasks_of_node(const std::string& tasks_per_node, int node) {
  std::string_view rest = tasks_per_node;
  const auto fail = [&] {
    throw FormatError(concat("Slurm's tasks per node '", tasks_per_node, "' do not tell of node ", node));
  };
  const auto take_number = [&] {
    int value = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{} || value < 1) fail();
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return value;
  };
  const auto take = [&](std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  };
  for (int first = 0;;) {  // number of the next entry's first node
    const int tasks = take_number();
    int count = 1;
    if (take("(x")) {
      count = take_number();
      if (!take(")")) fail();
    }
    if (node - first < count) return tasks;
    first += count;
    if (!take(",")) fail();
  }
}

}  // namespace lockstep::comm
