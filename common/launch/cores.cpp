#include "launch/cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/affinity.hpp"
#include "base/error.hpp"

namespace lockstep::launch {
namespace {

std::optional<int> read_int(const std::string& path) {
  std::ifstream file(path);
  int value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Version 2 control groups: "QUOTA PERIOD" in microseconds, or "max PERIOD".
std::optional<int> quota_in(const std::string& path) {
  std::ifstream file(path);
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && period > 0) return std::max(1, static_cast<int>(std::ceil(quota / period)));
  return std::nullopt;
}

std::optional<int> control_group_quota() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::/", 0) != 0) continue;
    if (const auto quota = quota_in("/sys/fs/cgroup" + line.substr(3) + "/cpu.max")) return quota;
  }
  return quota_in("/sys/fs/cgroup/cpu.max");
}

// (package, core). Without topology each thread counts as a core of its own; -1 is no package number.
std::pair<int, int> core_of(int cpu) {
  const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  const auto core = read_int(topology + "core_id");
  return {core ? read_int(topology + "physical_package_id").value_or(0) : -1, core.value_or(cpu)};
}

}  // namespace

Cores usable_cores() {
  const std::vector<int> cpus = allowed_cpus();
  Cores cores;
  if (cpus.empty()) {
    cores.logical = cores.physical = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  } else {
    std::set<std::pair<int, int>> distinct;
    for (const int cpu : cpus) distinct.insert(core_of(cpu));
    cores.logical = static_cast<int>(cpus.size());
    cores.physical = static_cast<int>(distinct.size());
  }
  if (const auto quota = control_group_quota()) {
    cores.logical = std::min(cores.logical, *quota);
    cores.physical = std::min(cores.physical, *quota);
  }
  return cores;
}

std::vector<int> share_of_cpus(int local_rank, int local_world_size) {
  require(local_rank >= 0 && local_rank < local_world_size, "a share of the processors for local rank ", local_rank,
          " of ", local_world_size);
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.empty()) throw UnavailableError("cannot share out the processors: the kernel does not tell which there are");
  std::vector<std::pair<std::pair<int, int>, int>> places;  // (package, core), processor
  for (const int cpu : cpus) places.emplace_back(core_of(cpu), cpu);
  std::ranges::sort(places);
  const auto place_of = [&](int rank) { return rank * static_cast<std::ptrdiff_t>(cpus.size()) / local_world_size; };
  const auto begin = place_of(local_rank), end = std::max(begin + 1, place_of(local_rank + 1));
  std::vector<int> share;
  for (auto place = begin; place < end; ++place) share.push_back(places[static_cast<std::size_t>(place)].second);
  std::ranges::sort(share);
  return share;
}

}  // namespace lockstep::launch
