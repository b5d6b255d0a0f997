#include "base/affinity.hpp"

#include <sched.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"

namespace lockstep {

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

void restrict_to_cpus(std::span<const int> cpus) {
  require(!cpus.empty(), "a process needs a processor to run on");
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (const int cpu : cpus) {
    require(cpu >= 0 && cpu < CPU_SETSIZE, "processor ", cpu, " is not in [0, ", CPU_SETSIZE, ")");
    CPU_SET(cpu, &allowed);
  }
  // The kernel sets affinity per thread only, so call it for each.
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(task.path().filename().string());
    const bool is_done = sched_setaffinity(thread, sizeof(allowed), &allowed) == 0 || errno == ESRCH;  // it has ended
    if (!is_done) throw IoError(concat("cannot bind this process to ", cpus.size(), " processors"), errno);
  }
}

}  // namespace lockstep
