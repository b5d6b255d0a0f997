#pragma once
/// @file
/// Takes the time of the parts of a training step, for metrics and timeline.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "run/metrics.hpp"
#include "trace/recorder.hpp"

namespace lockstep::run {

/// The parts of a step, in order.
enum class Phase { kForward, kBackward, kUpdate };

/// Order of calls, per step: begin (which starts kForward), enter(kBackward) and, with several micro-batches,
/// enter(kForward) in turn, enter(kUpdate), end. Thread safety: none.
class StepClock {
 public:
  /// @param recorder  Gets a span per phase, on the lane "compute". Outlives the clock.
  explicit StepClock(trace::Recorder& recorder);

  /// @param step             Of the spans.
  /// @param loader_waiting   What DataLoader::time_waited() says; the growth since the last call is this step's wait.
  void begin(std::int64_t step, std::chrono::nanoseconds loader_waiting);
  /// Ends the phase before and begins `phase`, if that is not the running one.
  void enter(Phase phase);
  /// Fills the durations of `metrics`.
  void end(StepMetrics& metrics);

  /// Begins something that belongs to no step's duration, or begins it anew.
  void begin_aside() noexcept { aside_begin_ = trace::Clock::now(); }
  /// Records a span from the last begin_aside() on. @return  How long it took.
  trace::Clock::duration end_aside(std::string_view name, trace::Category category);

 private:
  void close_phase(trace::Clock::time_point now);

  trace::Recorder& recorder_;
  int lane_;
  trace::Clock::time_point begin_{};
  trace::Clock::time_point phase_begin_{};
  trace::Clock::time_point aside_begin_{};
  Phase phase_ = Phase::kForward;
  std::chrono::nanoseconds loader_waiting_{0};
  StepMetrics durations_;
};

}  // namespace lockstep::run
