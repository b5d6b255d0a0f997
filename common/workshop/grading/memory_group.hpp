#pragma once
/// @file
/// A limit on the memory of all processes together, by the kernel's control groups.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::grading {

/// A control group with a limit: what its processes use counts, and so do files in memory that they have written, which
/// belong to no process. Beyond the limit the kernel ends one of them. Removed at the end of its life.
/// @source Linux, Documentation/admin-guide/cgroup-v2.rst, section "Memory"; cgroup-v1/memory.rst.
class MemoryGroup {
 public:
  /// A new group without processes; nothing if this process may not make one here. @param most_bytes  For all of it.
  [[nodiscard]] static std::optional<MemoryGroup> create(std::uint64_t most_bytes);

  MemoryGroup(MemoryGroup&& other) noexcept;  ///< The other one then removes nothing.
  MemoryGroup& operator=(MemoryGroup&&) = delete;
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup();

  /// The command that enters it and then becomes this one: what it starts is in the group from the beginning. If it
  /// cannot enter, it becomes the command all the same.
  [[nodiscard]] std::vector<std::string> wrapped(const std::vector<std::string>& command) const;
  /// Whether a process is in it.
  [[nodiscard]] bool holds(pid_t pid) const;
  /// Whether the kernel has ended a process of it because of the limit.
  [[nodiscard]] bool has_ended_processes() const;

 private:
  explicit MemoryGroup(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace lockstep::grading
