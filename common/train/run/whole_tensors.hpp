#pragma once
/// @file
/// Writing tensors that ranks divide among themselves as one process would write them.
///
/// Vocabulary. A *window* is a run of at most kWindowBytes of a whole tensor. Window by window, in the file's order,
/// each owner packs its elements of the window into one message, and rank 0 puts the messages together.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "run/part_plan.hpp"
#include "run/training_parts.hpp"

namespace lockstep::checkpoint {
struct StreamedTensors;
struct StreamedContents;
}  // namespace lockstep::checkpoint

namespace lockstep::run {

/// The longest message, and the longest write.
inline constexpr std::int64_t kWindowBytes = std::int64_t{4} << 20;

/// Makes whole tensors of the parts of all ranks, on rank 0, a window at a time: no rank ever has a whole one. Uses the
/// run's group, because a save is part of the step: no other collective is in flight. Thread safety: as the group's.
class WholeTensors {
 public:
  /// Has the ranks agree on who saves what. Collective.
  /// @param parts  Of this rank; save() is given the same again.
  /// @param group  Null: this process alone. Must outlive this.
  /// @throws MismatchError  As PartPlan.
  WholeTensors(const TrainingParts& parts, comm::ProcessGroup* group);

  /// On rank 0 calls `write`, which must write both lists in their order. The other ranks send it their elements, and
  /// return when these are sent. Collective.
  /// @throws  What `write` throws; then the group fails, and the other ranks throw a PeerFailedError that quotes it.
  /// @throws PeerFailedError, TimeoutError  Another rank has failed.
  /// @cost    Rank 0: 8 MiB of host memory; the others: 4 MiB. Each sends the elements that it owns.
  void save(const TrainingParts& parts, const std::function<void(const checkpoint::StreamedContents&)>& write) const;

  /// The same for the model alone.
  void save_model(std::span<const NamedPart> model,
                  const std::function<void(const checkpoint::StreamedTensors&)>& write) const;

  /// `parts`, and an empty one for each tensor that only other ranks hold: all that a file has, for loading.
  [[nodiscard]] TrainingParts with_tensors_of_others(TrainingParts parts) const;

 private:
  [[nodiscard]] bool is_main() const noexcept;
  [[nodiscard]] checkpoint::StreamedTensors received(const PartPlan& plan, std::span<const NamedPart> parts) const;
  void send(const PartPlan& plan, std::span<const NamedPart> parts) const;
  void telling_the_others(const std::function<void()>& write) const;

  comm::ProcessGroup* group_;
  PartPlan model_;
  PartPlan optimizer_;
};

}  // namespace lockstep::run
