#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "launch/flight_summary.hpp"
#include "launch/job_folder.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {

int trace(const Arguments& arguments) {
  bool last_failure = false;
  int count = 20;
  CommandLine app("Shows the last collectives of each rank of a job that failed", "lockstep trace");
  app.add_flag("--last-failure", last_failure, "The job that failed last on this machine").required();
  app.add_option("--count", count, "Collectives shown per rank, newest last").check(whole_number(1, 1000));
  if (const auto done = app.parse(arguments)) return *done;
  const auto folder = launch::last_failure();
  if (!folder) throw Error("no job of yours has failed here (or its records have been removed)");
  const std::string summary = launch::flight_summary(*folder, static_cast<std::size_t>(count));
  if (const auto first = launch::read_first_failure(*folder)) {
    std::cout << "first to end: rank " << first->rank << " " << first->what << "\n";
  }
  std::cout << (summary.empty() ? "That job's ranks entered no collective.\n" : summary);
  return 0;
}

}  // namespace lockstep::tool
