#pragma once
/// @file
/// Measures the time of the parts of a training step, for metrics and timeline.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "run/metrics.hpp"
#include "trace/recorder.hpp"

namespace lockstep::run {

/// The parts of a step, in order.
enum class Phase { kForward, kBackward, kUpdate };

/// Order of calls per step: begin (which starts kForward), enter(kBackward), with several micro-batches alternating
/// with enter(kForward), enter(kUpdate), end. Thread safety: none.
class StepClock {
 public:
  /// @param recorder  Gets a span per phase, on the lane "compute". Must outlive the clock.
  explicit StepClock(trace::Recorder& recorder);

  /// @param step             Number for the spans.
  /// @param loader_waiting   DataLoader::time_waited(); its growth since the last call is this step's wait.
  void begin(std::int64_t step, std::chrono::nanoseconds loader_waiting);
  /// Ends the current phase and begins `phase`, unless they are the same.
  void enter(Phase phase);
  /// Fills the durations of `metrics`.
  void end(StepMetrics& metrics);

  /// Draws the time that this rank waited for others in the step, after end(): a span of its own at the end of the last
  /// backward phase, at most as long as that. No effect if the step had none.
  void record_wait(std::chrono::nanoseconds waited);

  /// Begins, or restarts, an activity outside every step's duration.
  void begin_aside() noexcept { aside_begin_ = trace::Clock::now(); }
  /// Records a span from the last begin_aside() until now. @return  Its duration.
  trace::Clock::duration end_aside(std::string_view name, trace::Category category);

 private:
  void close_phase(trace::Clock::time_point now);

  trace::Recorder& recorder_;
  int lane_;
  trace::Clock::time_point begin_{};
  trace::Clock::time_point phase_begin_{};
  trace::Clock::time_point backward_begin_{}, backward_end_{};  // of the last such phase in this step
  trace::Clock::time_point aside_begin_{};
  Phase phase_ = Phase::kForward;
  std::chrono::nanoseconds loader_waiting_{0};
  StepMetrics durations_;
};

}  // namespace lockstep::run
