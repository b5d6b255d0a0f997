#include "launch/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

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

}  // namespace

Cores usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  Cores cores;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    std::set<std::pair<int, int>> distinct;  // (package, core)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed)) continue;
      const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      const auto core = read_int(topology + "core_id");
      // Without topology each thread counts as a core of its own; -1 is no package number.
      distinct.emplace(core ? read_int(topology + "physical_package_id").value_or(0) : -1, core.value_or(cpu));
    }
    cores.logical = std::max(1, CPU_COUNT(&allowed));
    cores.physical = std::max<int>(1, static_cast<int>(distinct.size()));
  } else {
    cores.logical = cores.physical = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (const auto quota = control_group_quota()) {
    cores.logical = std::min(cores.logical, *quota);
    cores.physical = std::min(cores.physical, *quota);
  }
  return cores;
}

}  // namespace lockstep::launch
