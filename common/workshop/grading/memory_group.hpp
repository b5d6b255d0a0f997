#pragma once
/// @file
/// A joint limit on the memory of several processes, by the kernel's control groups.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::grading {

/// A control group with a limit on the memory of its processes together, including files in memory that they have
/// written, which belong to no process. Beyond the limit the kernel kills one of them. Removed by the destructor.
/// @source Linux, Documentation/admin-guide/cgroup-v2.rst, section "Memory"; cgroup-v1/memory.rst.
class MemoryGroup {
 public:
  /// A new group without processes; nothing if this process may not make one. @param most_bytes  For the whole group.
  [[nodiscard]] static std::optional<MemoryGroup> create(std::uint64_t most_bytes);

  MemoryGroup(MemoryGroup&& other) noexcept;  ///< The moved-from object removes nothing.
  MemoryGroup& operator=(MemoryGroup&&) = delete;
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup();

  /// A command that enters the group and then executes `command`, whose children are in the group from the start. If it
  /// cannot enter, it executes the command anyway.
  [[nodiscard]] std::vector<std::string> wrapped(const std::vector<std::string>& command) const;
  [[nodiscard]] bool holds(pid_t pid) const;
  /// True if the kernel has killed a process because of the limit.
  [[nodiscard]] bool has_ended_processes() const;

 private:
  explicit MemoryGroup(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace lockstep::grading
