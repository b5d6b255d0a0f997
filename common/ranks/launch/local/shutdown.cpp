#include "launch/local/shutdown.hpp"

namespace lockstep::launch {

void Shutdown::terminate() {
  enter(Step::kTerminating, grace_);
  reaper_.terminate();
}

void Shutdown::kill() {
  enter(Step::kKilling, kKillLimit);
  reaper_.kill();
}

void Shutdown::abandon() {
  is_abandoned_ = true;
  reaper_.abandon();
}

void Shutdown::enter(Step step, std::chrono::milliseconds limit) {
  step_ = step;
  deadline_ = Deadline::after(limit);
}

}  // namespace lockstep::launch
