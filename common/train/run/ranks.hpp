#pragma once
/// @file
/// The ranks of a run, and the main rank that does one-time work.
#include <span>

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// The ranks of a run: those of a group, or this process alone. Copies are equal. Thread safety: as the group's.
class Ranks {
 public:
  /// @param group  Must outlive this and all copies; null: this process alone.
  explicit Ranks(comm::ProcessGroup* group) noexcept : group_(group) {}
  /// Ranks of which several compute the same samples, each with a part of the model.
  /// @param data_ranks  Into how many shares a batch is divided. @throws ContractError  Not a divisor of world_size().
  Ranks(comm::ProcessGroup* group, int data_ranks);

  [[nodiscard]] int rank() const noexcept;              ///< 0 if this process is alone.
  [[nodiscard]] int world_size() const noexcept;        ///< 1 if this process is alone.
  [[nodiscard]] int data_ranks() const noexcept;        ///< Shares of a batch; world_size() unless told otherwise.
  [[nodiscard]] int local_world_size() const noexcept;  ///< Ranks on this host.
  /// True on the rank that prints, saves, and writes the log and the report.
  [[nodiscard]] bool is_main() const noexcept { return rank() == 0; }
  [[nodiscard]] comm::ProcessGroup* group() const noexcept { return group_; }  ///< Null if this process is alone.

  /// Replaces `values` with their sums over all ranks. Collective.
  void sum(std::span<double> values) const;

 private:
  comm::ProcessGroup* group_;
  int data_ranks_ = 0;  // 0: all
};

}  // namespace lockstep::run
