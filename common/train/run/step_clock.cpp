#include "run/step_clock.hpp"

#include <algorithm>

namespace lockstep::run {
namespace {

struct PhaseFacts {
  const char* name;
  trace::Category category;
  StepMetrics::Milliseconds StepMetrics::*duration;
};

PhaseFacts facts_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return {"forward", trace::Category::kForward, &StepMetrics::forward};
    case Phase::kBackward:
      return {"backward", trace::Category::kBackward, &StepMetrics::backward};
    case Phase::kUpdate:
      break;
  }
  return {"update", trace::Category::kOptimizer, &StepMetrics::update};
}

}  // namespace

StepClock::StepClock(trace::Recorder& recorder) : recorder_(recorder), lane_(recorder.lane("compute")) {}

void StepClock::begin(std::int64_t step, std::chrono::nanoseconds loader_waiting) {
  begin_ = phase_begin_ = trace::Clock::now();
  backward_begin_ = backward_end_ = {};
  phase_ = Phase::kForward;
  durations_ = {};
  const std::chrono::nanoseconds waited = loader_waiting - loader_waiting_;
  loader_waiting_ = loader_waiting;
  durations_.data_wait = waited;
  recorder_.set_step(step);
  recorder_.record(lane_, "waiting for data", trace::Category::kData, begin_ - waited, begin_);
}

void StepClock::enter(Phase phase) {
  if (phase == phase_) return;
  close_phase(trace::Clock::now());
  phase_ = phase;
}

void StepClock::close_phase(trace::Clock::time_point now) {
  const PhaseFacts facts = facts_of(phase_);
  durations_.*facts.duration += now - phase_begin_;
  recorder_.record(lane_, facts.name, facts.category, phase_begin_, now);
  if (phase_ == Phase::kBackward) {
    backward_begin_ = phase_begin_;
    backward_end_ = now;
  }
  phase_begin_ = now;
}

void StepClock::end(StepMetrics& metrics) {
  const trace::Clock::time_point now = trace::Clock::now();
  close_phase(now);
  metrics.duration = now - begin_ + std::chrono::duration_cast<std::chrono::nanoseconds>(durations_.data_wait);
  metrics.data_wait = durations_.data_wait;
  metrics.forward = durations_.forward;
  metrics.backward = durations_.backward;
  metrics.update = durations_.update;
}

void StepClock::record_wait(std::chrono::nanoseconds waited) {
  if (waited.count() <= 0 || backward_end_ == backward_begin_) return;
  const trace::Clock::time_point begin = std::max(backward_begin_, backward_end_ - waited);
  recorder_.record(lane_, "waiting for other ranks", trace::Category::kWait, begin, backward_end_);
}

trace::Clock::duration StepClock::end_aside(std::string_view name, trace::Category category) {
  const trace::Clock::time_point now = trace::Clock::now();
  recorder_.record(lane_, name, category, aside_begin_, now);
  return now - aside_begin_;
}

}  // namespace lockstep::run
