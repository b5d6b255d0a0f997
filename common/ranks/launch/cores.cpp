#include "launch/cores.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>

#include "base/affinity.hpp"
#include "base/error.hpp"

namespace lockstep::launch {
namespace {

constexpr const char* kProcessors = "/sys/devices/system/cpu";

std::optional<int> read_int(const std::string& path) {
  std::ifstream file(path);
  int value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Microseconds of processor time in a period of so many: "QUOTA PERIOD" or "max PERIOD" in version 2; in version 1 two
// files, with a quota of -1 for none.
double quota_in(const std::filesystem::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period && quota > 0 && period > 0) return quota / period;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : kUnlimited;
}

// The least of a group and of those that it is in. Within a container, the file system may begin at the container's own
// group, while `group` is its path on the host: then only the root is found.
double least_quota(const std::filesystem::path& root, std::filesystem::path group) {
  double least = quota_in(root);
  for (; !group.empty(); group = group.parent_path()) least = std::min(least, quota_in(root / group));
  return least;
}

// Identifies a processor's core by the kernel's list of that core's threads, "0-1". It is the same for all of them,
// even on machines with several clusters that each number their cores from 0. Without topology each processor is a
// core.
std::string core_of(int cpu, const std::filesystem::path& system) {
  const std::string topology = concat(system.string(), "/cpu", cpu, "/topology/");
  for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {  // since Linux 5.3, and earlier
    std::ifstream file(topology + name);
    std::string threads;
    if (std::getline(file, threads) && !threads.empty()) return threads;
  }
  return std::to_string(cpu);
}

// Sort key that groups processors by package, then by the core's first thread.
std::tuple<int, int, int> place_of(int cpu) {
  const int package = read_int(concat(kProcessors, "/cpu", cpu, "/topology/physical_package_id")).value_or(0);
  int first_thread = cpu;
  std::istringstream(core_of(cpu, kProcessors)) >> first_thread;
  return {package, first_thread, cpu};
}

}  // namespace

std::optional<int> cpu_quota(const std::filesystem::path& groups, const std::filesystem::path& root) {
  double least = least_quota(root, {});
  std::ifstream file(groups);
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/x" in version 1, "0::/x" in version 2
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.find("..", second) != std::string::npos) continue;  // outside of `root`
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const auto group = std::filesystem::path(line.substr(second + 1)).relative_path();
    if (controllers.empty()) least = std::min(least, least_quota(root, group));
    if (concat(",", controllers, ",").find(",cpu,") != std::string::npos)
      least = std::min({least, least_quota(root / controllers, group), least_quota(root / "cpu", group)});
  }
  if (least >= INT_MAX) return std::nullopt;
  return std::max(1, static_cast<int>(std::ceil(least)));
}

int count_cores(const std::vector<int>& cpus, const std::filesystem::path& system) {
  std::set<std::string> distinct;
  for (const int cpu : cpus) distinct.insert(core_of(cpu, system));
  return static_cast<int>(distinct.size());
}

Cores usable_cores() {
  const std::vector<int> cpus = allowed_cpus();
  Cores cores;
  if (cpus.empty()) {
    cores.logical = cores.physical = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  } else {
    cores.logical = static_cast<int>(cpus.size());
    cores.physical = count_cores(cpus);
  }
  if (const auto quota = cpu_quota()) {
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
  std::vector<std::tuple<int, int, int>> places;  // package, first thread of the core, processor
  for (const int cpu : cpus) places.push_back(place_of(cpu));
  std::ranges::sort(places);
  const auto first_of = [&](int rank) { return rank * static_cast<std::ptrdiff_t>(cpus.size()) / local_world_size; };
  const auto begin = first_of(local_rank), end = std::max(begin + 1, first_of(local_rank + 1));
  std::vector<int> share;
  for (auto place = begin; place < end; ++place) share.push_back(std::get<2>(places[static_cast<std::size_t>(place)]));
  std::ranges::sort(share);
  return share;
}

}  // namespace lockstep::launch
