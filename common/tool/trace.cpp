#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.hpp"
#include "launch/flight_summary.hpp"
#include "launch/job_folder.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {

int trace(const Arguments& arguments) {
  bool last_failure = false;
  int count = 20;
  CLI::App app("Shows the last collectives of each rank of a job that failed", "lockstep trace");
  app.add_flag("--last-failure", last_failure, "The job that failed last on this machine")->required();
  app.add_option("--count", count, "Collectives shown per rank, newest last")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  if (const auto done = parse_arguments(app, arguments)) return *done;
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
