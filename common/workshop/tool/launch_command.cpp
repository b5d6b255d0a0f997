#include <stdlib.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "launch/grace.hpp"
#include "launch/launcher.hpp"
#include "tool/command.hpp"
#include "tool/configuration.hpp"
#include "tool/launch_faults.hpp"
#include "tool/launch_hosts.hpp"
#include "tool/launch_logs.hpp"
#include "tool/nodes_options.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

// The program's index: after "--", or else the first word that is neither an option nor an option's value.
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

// A bare name means a chapter program if there is one, otherwise a program on PATH.
std::string resolve(const std::string& name) {
  const fs::path own = program_folder() / name;
  return name.find('/') == std::string::npos && fs::is_regular_file(own) ? own.string() : name;
}

// Lets a script that is a rank find the chapters' programs by name. Earlier PATH entries keep precedence.
void append_programs_to_path() {
  const std::string path = environment::get("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  setenv("PATH", concat(path, ":", program_folder().string()).c_str(), 1);
}

// Torchrun's and Accelerate's options mean the same.
std::optional<std::string> one_rank_count(const std::optional<std::string>& nproc,
                                          const std::optional<std::string>& processes) {
  if (nproc && processes && *nproc != *processes) {
    throw UsageError(concat("--nproc-per-node ", *nproc, " and --num-processes ", *processes,
                            " both say how many ranks to start; give one of them"));
  }
  return nproc ? nproc : processes;
}

// Settings from the named file, or else from the default file if it exists; says which.
Configuration load_configuration(const fs::path& named) {
  const bool is_usual = named.empty();
  if (is_usual && !environment::get("XDG_CONFIG_HOME") && !environment::get("HOME")) return {};
  const fs::path file = is_usual ? default_configuration_file() : named;
  if (is_usual && !fs::exists(file)) return {};
  if (fs::is_directory(file)) throw UsageError(concat("--config ", file.string(), " is a folder; name a file"));
  const Configuration configuration = read_configuration(file);
  std::cerr << "lockstep: settings of " << shown(file) << ": " << describe(configuration) << "\n";
  return configuration;
}

int rank_count_in(const Configuration& configuration) {
  const auto value = configuration.find("num_processes");
  return parse_rank_count(value == configuration.end() ? "auto" : value->second);
}

// For a setting that the program would ignore: an error if it was given as an option and is certainly ignored,
// otherwise a warning.
void warn_of_ignored(const std::string& program, const Setting& setting, const std::string& value, bool is_option) {
  if (value == setting.neutral || setting.variable == "OMP_NUM_THREADS" || mentions(program, setting.variable)) return;
  const std::string name = fs::path(program).filename().string();
  std::error_code not_there;
  const bool is_ours = fs::equivalent(fs::path(program).parent_path(), program_folder(), not_there);
  if (is_ours && is_option) {
    throw UsageError(concat(name, " has no Accelerator, and would ignore --mixed-precision ", value, "; its own ",
                            "options may choose the precision (", name, " --help)"));
  }
  std::cerr << "lockstep: " << setting.key << " " << value << " has no effect "
            << (is_ours ? concat("on ", name, ", which does not read ") : concat("unless what ", name, " runs reads "))
            << setting.variable << "\n";
}

// Passes settings to the ranks, which inherit this process's environment. Options override the environment, which
// overrides the file.
void export_settings(const Configuration& file, const std::optional<std::string>& precision,
                     const std::string& program) {
  for (const Setting& setting : settings()) {
    if (setting.variable.empty()) continue;
    const bool is_option = precision && setting.key == "mixed_precision";
    const auto in_file = file.find(setting.key);
    if (!is_option && (in_file == file.end() || environment::get(setting.variable))) continue;
    const std::string value = is_option ? *precision : in_file->second;
    if (value == "auto") continue;
    warn_of_ignored(program, setting, value, is_option);
    setenv(setting.variable.c_str(), value.c_str(), 1);
  }
}

struct LaunchOptions {
  std::optional<std::string> nproc, processes, precision;
  fs::path config_file;
  NodesOptions nodes;
  HostsOptions hosts;
  bool has_no_prefix = false;
  bool is_standalone = false;
  std::vector<std::string> faults;
  LaunchLogOptions logs;
  double grace_s = std::chrono::duration<double>(launch::default_grace()).count();
};

void add_options(CommandLine& app, LaunchOptions& options) {
  app.add_option("--nproc,--nproc-per-node,--nproc_per_node", options.nproc,
                 "Number of ranks, or auto (if left out) for as many as suit the machine");
  app.add_option("--num-processes,--num_processes", options.processes, "The same, by Accelerate's name");
  app.add_option("--mixed-precision,--mixed_precision", options.precision,
                 "The type in which programs with an Accelerator compute, unless they choose themselves: no, bf16, or "
                 "fp16 on cuda "
                 "and emulated (LOCKSTEP_MIXED_PRECISION)")
      .check(one_of({"no", "bf16", "fp16"}));
  app.add_option("--config,--config-file,--config_file", options.config_file,
                 "A file that lockstep config has written; its values stand in for options that are left out "
                 "($XDG_CONFIG_HOME/lockstep/config.json or ~/.config/lockstep/config.json if there is one)")
      .type_name("FILE")
      .without_default();
  add_nodes_options(app, options.nodes);
  add_hosts_options(app, options.hosts);
  app.add_flag("--no-prefix", options.has_no_prefix, "Print the ranks' lines unchanged, without [rank N]");
  app.add_flag("--standalone", options.is_standalone, "Accepted for compatibility with torchrun: a job on one machine");
  app.add_option("--grace", options.grace_s,
                 "Seconds from SIGTERM to SIGKILL when the ranks are ended (LOCKSTEP_GRACE_SECONDS): time for a "
                 "checkpoint; at most what the scheduler allows (Slurm's KillWait, the notice before a preemption)")
      .check(real_number(0, static_cast<double>(launch::kLongestGrace.count())));
  add_fault_option(app, options.faults);
  add_log_options(app, options.logs);
}

Arguments program_in(const Arguments& arguments, std::size_t begin) {
  Arguments program(arguments.begin() + static_cast<std::ptrdiff_t>(begin), arguments.end());
  if (!program.empty() && program.front() == "--") program.erase(program.begin());
  if (program.empty())
    throw UsageError(concat("no program to run: ", tool_as_typed(), " launch --nproc 2 -- program arguments"));
  return program;
}

// Runs the job through agents on the hosts, which get this process's environment and `own` options.
int launch_by_agents(const LaunchOptions& options, const std::optional<std::string>& ranks, bool has_nodes,
                     const Configuration& configuration, const Arguments& own, const Arguments& program) {
  const auto usual = configuration.find("num_processes");
  return launch_on_hosts({.hosts = options.hosts,
                          .nodes = options.nodes,
                          .has_nodes = has_nodes,
                          .ranks = ranks,
                          .usual_ranks = usual == configuration.end() ? "auto" : usual->second,
                          .grace_s = options.grace_s,
                          .preempt_signal = preempt_signal_of(options.logs),
                          .options = own,
                          .program = program});
}

// Runs the job's part on this host; with several hosts, other launchers run the rest.
int launch_here(const LaunchOptions& options, std::optional<launch::AgentOptions> agent, launch::JobOptions job,
                const AgentPart* part) {
  job.style = options.has_no_prefix ? launch::OutputStyle::kPlain : launch::OutputStyle::kPrefixed;
  job.grace = std::chrono::milliseconds(static_cast<std::int64_t>(options.grace_s * 1000));
  if (part != nullptr) {
    require_program(job.command.front());
    job.name = part->name;
    part->on_start();
  }
  const auto health_server = apply_log_options(options.logs, job);
  if (!agent) return launch::run_job(job).exit_code;
  agent->job = std::move(job);
  if (part != nullptr) {
    agent->is_led = !part->is_first;
    if (agent->max_nodes > 1)
      agent->on_meeting = [part](const net::SocketAddress& address) { part->on_meeting(address.port); };
  }
  return launch::run_agent(*agent);
}

// `part` is set if this process is an agent of another launcher.
int launch_job(const Arguments& arguments, const AgentPart* part) {
  const std::size_t begin = program_begin(arguments);
  LaunchOptions options;
  const std::string usage = concat("  ", tool_as_typed(), " launch ");
  CommandLine app(
      concat("Runs a program as several ranks, with the variables that torchrun sets, on this machine:\n", usage,
             "[OPTIONS] -- program [arguments]\n"
             "or on several, by the same command on each, with its own --node-rank from 0:\n",
             usage,
             "--nnodes 2 --node-rank 0 --rdzv-endpoint HOST:PORT [OPTIONS] -- program [arguments]\n"
             "or on those that a file lists, by ssh, with one command:\n",
             usage, "--hostfile FILE [OPTIONS] -- program [arguments]"),
      "lockstep launch");
  add_options(app, options);
  const Arguments own(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(begin));
  if (const auto done = app.parse(own)) {
    if (part != nullptr) throw Error("its lockstep does not know these options; build the same version on all hosts");
    return *done;
  }
  const bool has_hosts = !options.hosts.file.empty();
  if (!has_hosts && !(options.hosts.ssh_options.empty() && options.hosts.variables.empty()))
    throw UsageError("--ssh-options and --env go with --hostfile");
  options.nodes.may_choose_port = part != nullptr;
  std::optional<launch::AgentOptions> agent;
  if (!has_hosts) agent = agent_options(options.nodes, options.is_standalone);

  launch::JobOptions job;
  const Arguments program = program_in(arguments, begin);
  job.command = program;
  job.command.front() = resolve(job.command.front());
  append_programs_to_path();
  const std::optional<std::string> ranks = one_rank_count(options.nproc, options.processes);
  std::optional<int> asked;
  if (ranks) asked = parse_rank_count(*ranks, options.nproc ? "--nproc" : "--num-processes");
  // The agent's launcher has read its own configuration and sends the settings.
  const Configuration configuration = part != nullptr ? Configuration{} : load_configuration(options.config_file);
  export_settings(configuration, options.precision, job.command.front());
  job.world_size = asked ? *asked : rank_count_in(configuration);
  const int known_ranks = agent || has_hosts ? INT_MAX : job.world_size;  // others' ranks are unknown
  export_faults(options.faults, known_ranks, job.command.front());
  if (has_hosts) return launch_by_agents(options, ranks, app.is_given("--nnodes"), configuration, own, program);
  return launch_here(options, std::move(agent), std::move(job), part);
}

}  // namespace

int launch_command(const Arguments& arguments) {
  if (arguments != Arguments{kAgentOption}) return launch_job(arguments, nullptr);
  return run_as_agent([](const Arguments& ordered, const AgentPart& part) { return launch_job(ordered, &part); });
}

}  // namespace lockstep::tool
