#pragma once
/// @file
/// The four ways to split training among P ranks: what each rank computes and when, what it holds, and how much
/// it sends. `strategies` draws it.
///
/// All four train on the same batch of M micro-batches, so that their times can be compared. One unit of time is the
/// forward pass of one micro-batch through 1/P of the model; a backward pass takes twice as long as its forward pass.
#include <string>
#include <string_view>
#include <vector>

#include "00_why_many_gpus/budget.hpp"

namespace lockstep::plan {

/// The data that is split among the ranks.
///   kData      the batch: each rank has the whole model and M/P of the micro-batches.
///   kModel     the layers: each rank has L/P of them; the whole batch passes through one rank after another.
///   kTensor    every layer: each rank has 1/P of its heads and columns; all work on the same micro-batch.
///   kPipeline  the layers, as kModel, but micro-batches follow one another: rank 1 has the first while rank 0 has the
///              second. All forward passes, then all backward passes (GPipe).
enum class Strategy { kData, kModel, kTensor, kPipeline };

/// "data", "model", "tensor", "pipeline".
[[nodiscard]] std::string_view name_of(Strategy strategy) noexcept;

/// The direction through the model.
enum class Pass { kForward, kBackward };

/// One rank computing on one micro-batch during [begin, end), in units.
struct Task {
  int rank = 0;         ///< In [0, world_size).
  int micro_batch = 0;  ///< In [0, M).
  Pass pass = Pass::kForward;
  int begin = 0;  ///< In units.
  int end = 0;    ///< One past the last unit.
};

/// One step of training, ignoring the time that messages take.
struct Schedule {
  int world_size = 1;       ///< P.
  std::vector<Task> tasks;  ///< In no particular order; those of one rank do not overlap.

  /// Units until the last task ends.
  [[nodiscard]] int duration() const noexcept;
  /// Share of all ranks' time spent idle: the bubble.
  [[nodiscard]] double idle_share() const noexcept;
};

/// @throws UsageError  kData and P does not divide the number of micro-batches.
/// @source GPipe: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", 2019,
///         figure 2.
[[nodiscard]] Schedule schedule_of(Strategy strategy, int world_size, int micro_batches);

/// One line per rank, one character per unit: 'a' is the forward pass of micro-batch 0, 'A' its backward pass, 'b' and
/// 'B' those of micro-batch 1, ... (after z comes a again); '.' is idle.
[[nodiscard]] std::vector<std::string> picture_of(const Schedule& schedule);

/// Memory and traffic of one step, on the rank that has the most.
struct RankLoad {
  MemoryUse memory;       ///< Activations at their peak.
  double sent_bytes = 0;  ///< Gradients (kData) or activations and their gradients (the others).
};

/// @throws UsageError  P does not divide the L layers or the a heads.
/// @source Tensor: Shoeybi et al., "Megatron-LM", 2019, section 3: two all-reduces of the activations per layer in the
///         forward pass and two in the backward pass. All-reduces are counted as rings: 2(P-1)/P of the buffer each.
[[nodiscard]] RankLoad load_of(Strategy strategy, const Model& model, const Training& training, int world_size,
                               int micro_batches);

}  // namespace lockstep::plan
