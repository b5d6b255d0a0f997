#include "base/cpu_quota.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace lockstep {
namespace {

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

}  // namespace

std::optional<double> cpu_quota(const std::filesystem::path& groups, const std::filesystem::path& root) {
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
  return least == kUnlimited ? std::nullopt : std::optional(least);
}

}  // namespace lockstep
