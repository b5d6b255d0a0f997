#include "launch/local/job_report.hpp"

#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/processes.hpp"
#include "launch/watching/flight_summary.hpp"

namespace lockstep::launch {
namespace {

constexpr std::size_t kShownCollectives = 2;
constexpr std::size_t kShownRanks = 16;           // the culprit and those that are behind come first
constexpr std::size_t kReportedCollectives = 10;  // on SIGUSR1

}  // namespace

JobReport::JobReport(std::string name, std::filesystem::path flight_folder, int first_rank, int world_size,
                     JobOutput& output)
    : name_(std::move(name)),
      flight_folder_(std::move(flight_folder)),
      first_rank_(first_rank),
      world_size_(world_size),
      output_(output) {}

void JobReport::say(const std::string& text) { output_.announce(name_ + ": " + text); }

void JobReport::say_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) output_.announce("  | " + line);
}

void JobReport::say_where_ranks_are() {
  const std::string collectives = flight_summary(flight_folder_, kReportedCollectives, kShownRanks);
  say(collectives.empty() ? "SIGUSR1: no rank has entered a collective yet" : "SIGUSR1: where the ranks are:");
  if (!collectives.empty())
    output_.announce(collectives.substr(0, collectives.size() - 1));  // without the last line end
}

void JobReport::say_what_was_lost() {
  while (const auto problem = output_.take_problem()) say(*problem);
  output_.flush();
}

void JobReport::say_what_is_left(const std::vector<pid_t>& pids, std::chrono::nanoseconds waited) {
  say(concat("not everything has ended ", format_seconds(waited), " after SIGKILL: ", describe_processes(pids),
             "; it may wait in the kernel for a disk or a device, or belong to another user"));
}

void JobReport::say_first_failure(const RankFailure& failure) {
  say(concat("first failure: rank ", failure.rank, " ", failure.what,
             failure.last_lines.empty() ? "; it printed nothing" : "; its last lines:"));
  say_lines(failure.last_lines);
}

void JobReport::say_accused(const RankFailure& first) {
  const std::optional<int> accused = accused_rank(flight_folder_);
  if (!accused || *accused == first.rank || !is_here(*accused)) return;
  const std::vector<std::string> lines = last_lines(*accused);
  if (lines.empty() || lines == first.last_lines) return;
  say(concat("the ranks say that rank ", *accused, " is at fault; its last lines:"));
  say_lines(lines);
}

void JobReport::say_last_collectives() {
  const std::string collectives = flight_summary(flight_folder_, kShownCollectives, kShownRanks);
  if (collectives.empty()) return;
  say("the last collectives of each rank (lockstep trace --last-failure shows more):");
  output_.announce(collectives.substr(0, collectives.size() - 1));
}

RankFailure JobReport::failure_at_fault(const RankFailure& first) const {
  const std::optional<int> accused = accused_rank(flight_folder_);
  if (!accused || *accused == first.rank) return first;
  return {*accused, concat("is at fault, as rank ", first.rank, " was told, which ", first.what),
          is_here(*accused) ? last_lines(*accused) : first.last_lines};
}

}  // namespace lockstep::launch
