#pragma once
/// @file
/// Which rank of a pipeline computes what in which order: a schedule is a list of actions for each rank. A program that
/// does the actions of its rank's list, one after another, trains with any of them.
///
/// A model is cut into stages of consecutive layers. Stage s is on rank s % ranks. A batch is cut into micro-batches.
/// One action is a pass of one micro-batch through one stage. F1 is short for the forward pass of micro-batch 1, B1 for
/// its backward pass.
#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::pipeline {

/// The direction through the model.
enum class Pass { kForward, kBackward };

/// A pass of one micro-batch through one stage.
struct Action {
  Pass pass = Pass::kForward;
  int stage = 0;        ///< In [0, stages).
  int micro_batch = 0;  ///< In [0, micro-batches).

  friend bool operator==(const Action&, const Action&) = default;
  friend auto operator<=>(const Action&, const Action&) = default;
};

/// By rank: its actions, in the order in which it does them.
using Schedule = std::vector<std::vector<Action>>;

/// "F1 of stage 0".
[[nodiscard]] std::string text_of(const Action& action);

/// The rank that has a stage.
[[nodiscard]] constexpr int rank_of(int stage, int ranks) noexcept { return stage % ranks; }

/// One more than the largest stage of any action; 0 if there is none.
[[nodiscard]] int stages_of(const Schedule& schedule) noexcept;

/// The actions whose results `action` uses: the same pass of the stage before it (after it, in a backward pass), and
/// for a backward pass also its own forward pass.
[[nodiscard]] std::vector<Action> needs_of(const Action& action, int stages);

/// In the following functions all passes of one kind go through the micro-batches in ascending order, on every rank.
/// So gradients are added up in that order, and what one stage sends to another arrives in the order in which it is
/// used.
///
/// @param ranks          At least 1. One stage on each.
/// @param micro_batches  m, at least 1; may be less than the ranks.
/// @throws ContractError  A number is less than 1.

/// One micro-batch goes forward through all stages and back, before the next one begins. A rank holds one micro-batch,
/// and one rank computes at a time. Often called model parallelism.
[[nodiscard]] Schedule naive(int ranks, int micro_batches);

/// All forward passes, then all backward passes. A rank holds all m micro-batches when the first backward pass begins.
/// @source  Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", 2019,
/// fig. 2.
[[nodiscard]] Schedule gpipe(int ranks, int micro_batches);

/// Rank r does ranks - 1 - r forward passes, then one forward and one backward pass in turn, then the backward passes
/// that are left ("1F1B"). It holds at most ranks - r micro-batches, and is idle as long as in gpipe().
/// @source  Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021,
///          section 2.2.
[[nodiscard]] Schedule one_forward_one_backward(int ranks, int micro_batches);

/// 1F1B with several stages on each rank, which makes the bubble shorter: a rank takes `ranks` micro-batches through
/// one of its stages, then through the next one.
/// @param stages_per_rank  v, at least 1; the model has v * ranks stages.
/// @param micro_batches    A multiple of the ranks.
/// @throws ContractError  It is not.
/// @source  Narayanan et al., 2021, section 2.2, fig. 4.
[[nodiscard]] Schedule interleaved(int ranks, int stages_per_rank, int micro_batches);

/// The forward passes alone, for an evaluation.
[[nodiscard]] Schedule forward_only(int ranks, int micro_batches);

/// Schedules that a program offers with one stage on each rank.
enum class ScheduleKind { kNaive, kGpipe, kOneForwardOneBackward };

/// By the names that options have: "naive", "gpipe", "1f1b".
[[nodiscard]] const std::map<std::string, ScheduleKind>& schedule_kinds();
[[nodiscard]] std::string_view name_of(ScheduleKind kind) noexcept;
/// @throws UsageError  No schedule has this name; says which there are.
[[nodiscard]] ScheduleKind parse_schedule_kind(std::string_view name);

/// As the function of that name.
[[nodiscard]] Schedule make_schedule(ScheduleKind kind, int ranks, int micro_batches);

/// Checks that ranks which do their actions in order, each as soon as the results it needs are there, come to the end
/// of their lists. An input that arrives early waits; nobody waits for another rank to take what was sent.
/// @throws ContractError  A list has an action of another rank's stage, or one twice; one stage lacks a pass that
///         others have; or ranks wait for each other. Then the message names the circle: "stage 1 waits for F1 of
///         stage 0, which waits for B0 of stage 1, which waits for F1 of stage 0".
void require_executable(const Schedule& schedule);

}  // namespace lockstep::pipeline
