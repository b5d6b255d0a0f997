#pragma once
/// @file
/// How much processor time a container or a batch system grants this process.
#include <filesystem>
#include <optional>

namespace lockstep {

/// Processors whose whole time this process may use, such as 1.5: the least quota of its control groups and of the
/// groups that these are in. Empty: no limit, or none that can be read.
/// @param groups  The process's groups, as the kernel lists them. @param root  Where their file system is mounted.
/// @source Linux, Documentation/admin-guide/cgroup-v2.rst, section "CPU"; Documentation/scheduler/sched-bwc.rst.
[[nodiscard]] std::optional<double> cpu_quota(const std::filesystem::path& groups = "/proc/self/cgroup",
                                              const std::filesystem::path& root = "/sys/fs/cgroup");

}  // namespace lockstep
