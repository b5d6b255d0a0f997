#include "emulator/checker/control.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/environment.hpp"
#include "emulator/checker/checker.hpp"
#include "emulator/checker/finding_log.hpp"
#include "emulator/checker/metrics.hpp"

namespace lockstep::emulator {
namespace {

using checker::Checker;
using checker::Jobs;

constinit std::atomic<Jobs> asked_jobs{Jobs{}};

constexpr int kExitWithFindings = 86;

void set_jobs(Jobs jobs) {
  asked_jobs = jobs;
  Checker& checker = Checker::instance();
  const bool is_ours = observer() == nullptr || observer() == &checker;
  if (is_ours) set_observer(jobs.rules || jobs.metrics ? &checker : nullptr);
}

bool asks_for(const char* name) {
  const auto value = environment::get(name);
  return value && *value != "0";
}

int exit_with_findings() {
  const auto value = environment::get("LOCKSTEP_EMULATOR_EXIT");
  return value ? std::atoi(value->c_str()) : kExitWithFindings;
}

// Runs after the program's own handlers and destructors, because this library is loaded before them.
void at_exit(int status, void*) {
  if (metrics_enabled() && asks_for("LOCKSTEP_EMULATOR_METRICS")) std::fputs(metrics_table(metrics()).c_str(), stderr);
  if (!checks_enabled()) return;
  const std::vector<Finding> found = findings();
  if (checker::FindingLog::instance().is_printing()) std::fputs(summary_of(found).c_str(), stderr);
  if (found.empty() || status != 0 || exit_with_findings() == 0) return;
  std::fflush(nullptr);
  ::_exit(exit_with_findings());
}

const bool kStarted = [] {
  const Jobs jobs{asks_for("LOCKSTEP_EMULATOR_CHECK"), asks_for("LOCKSTEP_EMULATOR_METRICS")};
  if (jobs.rules || jobs.metrics) {
    set_jobs(jobs);
    ::on_exit(&at_exit, nullptr);
  }
  return true;
}();

}  // namespace

void enable_checks(bool is_on) { set_jobs({is_on, metrics_enabled()}); }
void enable_metrics(bool is_on) { set_jobs({checks_enabled(), is_on}); }
bool checks_enabled() { return asked_jobs.load().rules; }
bool metrics_enabled() { return asked_jobs.load().metrics; }

checker::Jobs checker::jobs() noexcept { return asked_jobs; }

}  // namespace lockstep::emulator
