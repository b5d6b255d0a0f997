#pragma once
/// @file
/// Who takes part in a run, and which rank does what is done once.
#include <span>

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// The ranks of a run: those of a group, or this process alone. Copies are equal. Thread safety: as the group's.
class Ranks {
 public:
  /// @param group  Outlives this and all copies; null: this process alone.
  explicit Ranks(comm::ProcessGroup* group) noexcept : group_(group) {}

  [[nodiscard]] int rank() const noexcept;              ///< 0 for one process alone.
  [[nodiscard]] int world_size() const noexcept;        ///< 1 for one process alone.
  [[nodiscard]] int local_world_size() const noexcept;  ///< Ranks on this host.
  /// Whether this rank does what is done once: printing, saving, writing the log and the report.
  [[nodiscard]] bool is_main() const noexcept { return rank() == 0; }
  [[nodiscard]] comm::ProcessGroup* group() const noexcept { return group_; }  ///< Null for one process alone.

  /// Replaces `values` by their sums over all ranks. Collective.
  void sum(std::span<double> values) const;

 private:
  comm::ProcessGroup* group_;
};

}  // namespace lockstep::run
