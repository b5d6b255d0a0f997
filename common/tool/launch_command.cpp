#include <algorithm>
#include <filesystem>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "launch/grace.hpp"
#include "launch/launcher.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

// Where the program begins: after "--", else at the first word that is neither an option nor an option's value.
std::size_t program_begin(const Arguments& arguments) {
  const auto divider = std::find(arguments.begin(), arguments.end(), "--");
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i] != "--" && arguments[i].rfind('-', 0) == 0) {
    const bool has_value = arguments[i].find('=') == std::string::npos && arguments[i] != "--standalone" &&
                           arguments[i] != "--no-prefix" && arguments[i] != "--help" && arguments[i] != "-h";
    i += has_value ? 2 : 1;
  }
  i = std::min(i, arguments.size());
  const bool divider_is_first =
      divider != arguments.end() && divider - arguments.begin() <= static_cast<std::ptrdiff_t>(i);
  return divider_is_first ? static_cast<std::size_t>(divider - arguments.begin()) : i;
}

// A bare name means a program of the chapters where there is one, else one that PATH finds.
std::string resolve(const std::string& name) {
  const std::filesystem::path own = program_folder() / name;
  return name.find('/') == std::string::npos && std::filesystem::is_regular_file(own) ? own.string() : name;
}

}  // namespace

int launch_command(const Arguments& arguments) {
  const std::size_t begin = program_begin(arguments);
  std::string ranks = "auto";
  int hosts = 1;
  double grace_s = std::chrono::duration<double>(launch::default_grace()).count();
  CommandLine app(
      "Runs a program as several ranks on this machine, with the variables that torchrun sets:\n"
      "  ./lockstep launch [OPTIONS] -- program [arguments]",
      "lockstep launch");
  app.add_option("--nproc,--nproc-per-node,--nproc_per_node", ranks,
                 "Number of ranks, or auto for as many as suit the machine");
  app.add_option("--nnodes", hosts, "Number of machines; only 1 is supported so far").check(whole_number(1, INT32_MAX));
  bool has_no_prefix = false;
  app.add_flag("--no-prefix", has_no_prefix, "Print the ranks' lines unchanged, without [rank N]");
  bool is_standalone = false;
  app.add_flag("--standalone", is_standalone, "Accepted for compatibility with torchrun: a job on one machine");
  app.add_option("--grace", grace_s,
                 "Seconds from SIGTERM to SIGKILL when the ranks are ended (LOCKSTEP_GRACE_SECONDS): time for a "
                 "checkpoint, and no more than what ends the job leaves (Slurm's KillWait, a preemption's notice)")
      .check(real_number(0, static_cast<double>(launch::kLongestGrace.count())));
  const Arguments own(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(begin));
  if (const auto done = app.parse(own)) return *done;
  if (hosts != 1) throw UsageError("--nnodes: jobs on several machines are not supported yet");

  launch::JobOptions job;
  job.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
  if (!job.command.empty() && job.command.front() == "--") job.command.erase(job.command.begin());
  if (job.command.empty()) throw UsageError("no program to run: ./lockstep launch --nproc 2 -- program arguments");
  job.command.front() = resolve(job.command.front());
  job.style = has_no_prefix ? launch::OutputStyle::kPlain : launch::OutputStyle::kPrefixed;
  job.world_size = parse_rank_count(ranks);
  job.grace = std::chrono::milliseconds(static_cast<std::int64_t>(grace_s * 1000));
  return launch::run_job(job).exit_code;
}

}  // namespace lockstep::tool
