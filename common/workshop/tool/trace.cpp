#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/number_list.hpp"
#include "launch/job_folder.hpp"
#include "launch/watching/flight_export.hpp"
#include "launch/watching/flight_summary.hpp"
#include "launch/watching/live_job.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {

namespace fs = std::filesystem;

namespace {

// The folder that `job` names, as a path or as listed among the running jobs; if it is empty, that of the only job.
fs::path live_folder(const std::string& job) {
  if (job.find('/') != std::string::npos) return job;
  const std::vector<fs::path> running = launch::running_jobs();
  if (running.empty())
    throw Error(
        "no job of yours with several ranks runs on this host. Ranks that run in a container, as another user, or with "
        "another LOCKSTEP_STATE_DIR record elsewhere: set LOCKSTEP_FLIGHT_DIR for them, and name that folder here");
  std::string names;
  for (const fs::path& each : running) {
    if (each.filename() == job || (job.empty() && running.size() == 1)) return each;
    names += concat(names.empty() ? "" : ", ", each.filename().string());
  }
  throw UsageError(job.empty() ? concat("several jobs run here: ", names, "; name one of them")
                               : concat("no job ", job, " runs here; there are ", names));
}

int show_live(const std::string& job, double seconds, int collectives, bool has_stacks) {
  const fs::path folder = live_folder(job);
  std::cout << launch::live_summary(folder, std::chrono::milliseconds(std::llround(seconds * 1000)),
                                    static_cast<std::size_t>(collectives))
            << std::flush;
  if (has_stacks) std::cout << launch::live_stacks(folder);
  return 0;
}

// Writes the records of the job in `folder` for PyTorch's analyzer, and says how to start that.
int export_records(const fs::path& folder, const fs::path& to) {
  const launch::FlightExport written = launch::export_flight_files(folder, to);
  const bool is_complete = written.missing.empty();
  std::cout
      << "records of ranks " << list_numbers(written.ranks) << " are in " << to.string()
      << ", in the format of PyTorch's flight recorder. PyTorch's analyzer reads them (tried: 2.14):\n  torchfrtrace "
      << (is_complete ? "" : "--allow-incomplete-ranks ") << to.string() << "\n";
  if (!is_complete)
    std::cout << "ranks " << list_numbers(written.missing)
              << " have no record on this host: export theirs on their own\n";
  if (written.left_out > 0)
    std::cout << counted(written.left_out, "call") << " left out: of groups whose ranks were not recorded\n";
  std::cout << written.problems << std::flush;
  return 0;
}

}  // namespace

int trace(const Arguments& arguments) {
  bool last_failure = false, is_live = false, has_stacks = false;
  int count = 20, collectives = 200;
  double seconds = 1;
  std::string job;
  fs::path export_folder;
  CommandLine app("Shows what the ranks of a job do, or the last collectives of one that failed", "lockstep trace");
  app.add_flag("--last-failure", last_failure, "The job that failed last on this machine");
  app.add_flag("--live", is_live, "A job that runs: who waits for whom, in which collective, at which line");
  app.add_option("job", job, "With --live: the job, if several run, or the folder that LOCKSTEP_FLIGHT_DIR names");
  app.add_option("--count", count, "Collectives shown per rank, newest last").check(whole_number(1, 1000));
  app.add_option("--seconds", seconds, "With --live: how long the job is watched").check(real_number(0.1, 60));
  app.add_option("--collectives", collectives,
                 "With --live: how many of the last ones are compared, to see who is late")
      .check(whole_number(1, 1000));
  app.add_flag("--stacks", has_stacks, "With --live: each rank's stack, too (needs eu-stack or gdb)");
  app.add_option(
         "--export", export_folder,
         "In place of showing it: write each rank's record to this folder, for PyTorch's analyzer (torchfrtrace)")
      .type_name("FOLDER")
      .without_default();
  if (const auto done = app.parse(arguments)) return *done;
  if (last_failure == is_live) throw UsageError(as_typed("which job? ./lockstep trace --live, or --last-failure"));
  if (is_live && !export_folder.empty()) return export_records(live_folder(job), export_folder);
  if (is_live) return show_live(job, seconds, collectives, has_stacks);
  if (!job.empty() || has_stacks) throw UsageError("a job's name and --stacks go with --live");
  const auto folder = launch::last_failure();
  if (!folder) throw Error("no job of yours has failed here (or its records have been removed)");
  if (!export_folder.empty()) return export_records(*folder, export_folder);
  const std::string summary = launch::flight_summary(*folder, static_cast<std::size_t>(count));
  if (const auto first = launch::read_first_failure(*folder)) {
    std::cout << "first to end: rank " << first->rank << " " << first->what << "\n";
  }
  std::cout << (summary.empty() ? "That job's ranks entered no collective.\n" : summary);
  return 0;
}

}  // namespace lockstep::tool
