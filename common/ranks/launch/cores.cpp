#include "launch/cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>

#include "base/affinity.hpp"
#include "base/cpu_quota.hpp"
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
    const int most = static_cast<int>(std::clamp(std::ceil(*quota), 1.0, static_cast<double>(cores.logical)));
    cores.logical = most;
    cores.physical = std::min(cores.physical, most);
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
