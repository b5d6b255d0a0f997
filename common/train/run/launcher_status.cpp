#include "run/launcher_status.hpp"

#include <chrono>
#include <cmath>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/process_group.hpp"

namespace lockstep::run {
namespace {

std::int64_t nanoseconds_of(StepMetrics::Milliseconds duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

LauncherStatus::LauncherStatus(const Ranks& ranks, std::int64_t last_step) : rank_(ranks.rank()) {
  if (ranks.group() == nullptr) return;
  const comm::JobContext& job = ranks.group()->context();
  status_.rank = job.global_rank(rank_);
  status_.generation = job.generation;
  status_.last_step = last_step;
  const auto folder = environment::get("LOCKSTEP_FLIGHT_DIR");
  try {
    if (folder) file_.emplace(*folder, status_.rank);
  } catch (const IoError& error) {  // the disk is full, or the folder was removed: no reason to end the run
    job.log.warning(concat("the launcher cannot show the progress: ", error.what()));
  }
}

void LauncherStatus::write(const StepMetrics& step) {
  if (!file_) return;
  status_.step = step.step;
  status_.step_ns = nanoseconds_of(step.duration);
  status_.steps_ns += status_.step_ns;
  status_.exposed_ns += nanoseconds_of(step.exposed_communication.value_or(StepMetrics::Milliseconds(0)));
  const double own_peak_mib = step.peak_memory_mib.at(static_cast<std::size_t>(rank_));
  status_.peak_memory_bytes = std::llround(own_peak_mib * (1 << 20));
  status_.loss = step.loss;
  file_->write(status_);
}

}  // namespace lockstep::run
