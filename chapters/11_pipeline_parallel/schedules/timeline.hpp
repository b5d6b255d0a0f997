#pragma once
/// @file
/// When each rank of a pipeline computes, how long it is idle, and how much it holds.
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"

namespace lockstep::pipeline {

/// How long actions take, in a unit of the caller's choice.
struct Costs {
  double forward = 1;   ///< A forward pass of one micro-batch through one stage.
  double backward = 2;  ///< Its backward pass.
  double message = 0;   ///< From the end of a pass until another rank has its result.
  /// By stage: how many times longer its passes take than the two above; all 1 if empty.
  std::vector<double> stage_factors = {};

  [[nodiscard]] double of(const Action& action) const;
};

/// An action during [begin, end).
struct TimedAction {
  Action action;
  double begin = 0, end = 0;

  friend bool operator==(const TimedAction&, const TimedAction&) = default;
};

/// A schedule with its times. Time 0 is the beginning of the first action.
struct Timeline {
  std::vector<std::vector<TimedAction>> ranks;  ///< In the order of the schedule.
  std::vector<int> most_held;                   ///< See most_held_by().

  /// The end of the last action; 0 if there is none.
  [[nodiscard]] double duration() const noexcept;
  /// How long `rank` computes.
  [[nodiscard]] double busy(int rank) const noexcept;
  /// How long `rank` is idle from time 0 to duration(), divided by busy(): the bubble. @pre  It computes.
  [[nodiscard]] double idle_per_busy(int rank) const noexcept;
  /// The same for all ranks together.
  [[nodiscard]] double idle_per_busy() const noexcept;
};

/// The most passes whose outputs a rank keeps at the same time for backward passes to come, from the beginning of the
/// forward pass to the end of the backward pass. If a rank has v stages, each is 1/v of a micro-batch. A forward pass
/// without a backward pass in the list keeps nothing.
[[nodiscard]] int most_held_by(const std::vector<Action>& actions);

/// Every action begins as soon as its rank has done the ones before it, and has the results that it needs. Sending and
/// receiving take none of a rank's time.
/// @throws ContractError  The schedule is not executable; or there are stage factors, but not one for each stage.
[[nodiscard]] Timeline simulate(const Schedule& schedule, const Costs& costs = {});

}  // namespace lockstep::pipeline
