#include "tool/launch_hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "launch/hosts/host_launcher.hpp"
#include "launch/hosts/hostfile.hpp"
#include "launch/hosts/ssh_command.hpp"
#include "net/address.hpp"
#include "net/token.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;
using launch::HostEntry;

// This process's own options, and those recomputed for each host. All but the last take a value.
constexpr std::array<std::string_view, 25> kOwnOptions = {
    "--hostfile",        "--ssh-options",    "--ssh_options",   "--env",           "--nproc",
    "--nproc-per-node",  "--nproc_per_node", "--num-processes", "--num_processes", "--mixed-precision",
    "--mixed_precision", "--config",         "--config-file",   "--config_file",   "--inject",
    "--nnodes",          "--node-rank",      "--node_rank",     "--rdzv-endpoint", "--rdzv_endpoint",
    "--master-addr",     "--master_addr",    "--master-port",   "--master_port",   "--standalone"};

// Variables that belong to one process or host, or that reach the agents in another way.
constexpr std::array<std::string_view, 10> kKeptVariables = {
    "LOCKSTEP_TOKEN",      "LOCKSTEP_TOKEN_FILE", "LOCKSTEP_SSH",          "LOCKSTEP_STORE",    "LOCKSTEP_PORT",
    "LOCKSTEP_GENERATION", "LOCKSTEP_FLIGHT_DIR", "LOCKSTEP_BIND_ADDRESS", "LOCKSTEP_PROGRESS", "LOCKSTEP_TERMINAL"};

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

Arguments options_for_agents(const Arguments& arguments) {
  Arguments kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    if (!contains(kOwnOptions, name))
      kept.push_back(arguments[i]);
    else if (name == arguments[i] && name != kOwnOptions.back())
      ++i;  // its value
  }
  return kept;
}

bool is_passed_on(const std::string& name) {
  if (name.starts_with("LOCKSTEP_")) return !contains(kKeptVariables, name);
  return name.starts_with("NCCL_") || name == "OMP_NUM_THREADS";
}

launch::Variables variables_for_agents(const std::vector<std::string>& named) {
  launch::Variables variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string text = *each, name = text.substr(0, text.find('='));
    if (is_passed_on(name) && name.size() < text.size()) variables.emplace_back(name, text.substr(name.size() + 1));
  }
  for (const std::string& each : named) {
    const std::size_t equals = each.find('=');
    const std::string name = each.substr(0, equals);
    const char* const value = equals == std::string::npos ? std::getenv(name.c_str()) : each.c_str() + equals + 1;
    if (value == nullptr) throw UsageError(concat("--env ", name, ": not set here; --env ", name, "=VALUE sets it"));
    variables.emplace_back(name, value);
  }
  const auto token = net::given_token();
  variables.emplace_back("LOCKSTEP_TOKEN", token ? *token : net::make_token());
  return variables;
}

// "localhost", or this host's name with or without a domain: started without ssh.
bool is_this_host(const HostEntry& entry) {
  std::array<char, 256> name{};
  if (!entry.user.empty() || ::gethostname(name.data(), name.size() - 1) != 0) return false;  // - 1: the final zero
  const std::string own = name.data();
  return entry.host == "localhost" || entry.host == own || entry.host == own.substr(0, own.find('.'));
}

class HostsPlan {
 public:
  explicit HostsPlan(HostsLaunch launch) : launch_(std::move(launch)), entries_(launch::read_hostfile(file())) {
    if (launch_.nodes.node_rank >= 0)
      throw UsageError(
          "--node-rank is for launchers that are started by hand; with --hostfile the file's order counts");
    if (const auto program = environment::get("LOCKSTEP_SSH")) ssh_.program = launch::split_words(*program);
    ssh_.words = launch::split_words(launch_.hosts.ssh_options);
    if (!launch_.has_nodes) launch_.nodes.nodes = std::to_string(entries_.size());
    const bool is_given = launch_.nodes.endpoint || launch_.nodes.master_host;
    if (!is_given) {
      launch_.nodes.endpoint = net::SocketAddress{entries_.front().host, 0}.text();
      launch_.nodes.may_choose_port = true;
    }
    agent_ = agent_options(launch_.nodes, false);
    ssh_.liveness = agent_ ? agent_->liveness : launch::AgentOptions{}.liveness;
    if (least() > static_cast<int>(entries_.size())) {
      throw UsageError(concat("--nnodes ", launch_.nodes.nodes, ": ", file().string(), " lists only ", entries_.size(),
                              entries_.size() == 1 ? " host" : " hosts"));
    }
    leave_out_spares();
    if (agent_ && !is_given && most() > 1) agent_->endpoint.host = meeting_host();
    for (const HostEntry& entry : entries_) ranks_.push_back(ranks_of(entry));
  }

  [[nodiscard]] launch::HostJob job() const {
    const std::string mark = net::make_token(), folder = fs::current_path().string();
    launch::HostJob job;
    for (const HostEntry& entry : entries_) job.hosts.push_back(start(entry));
    job.list = file().string();
    job.mark = mark;
    job.has_meeting = most() > 1;
    job.port = agent_ ? agent_->endpoint.port : 0;
    job.order = [this, mark, folder, variables = variables_for_agents(launch_.hosts.variables)](std::size_t host,
                                                                                                int port) {
      return launch::HostOrder{mark, entries_[host].host, folder, host == 0, variables, arguments(host, port)};
    };
    job.least_hosts = static_cast<std::size_t>(least());
    job.most_hosts = static_cast<std::size_t>(most());
    job.may_come_back = may_come_back();
    job.preempt_signal = launch_.preempt_signal;
    if (agent_) job.join = agent_->join;
    job.liveness = ssh_.liveness;
    job.grace = std::chrono::milliseconds(static_cast<std::int64_t>(launch_.grace_s * 1000));
    return job;
  }

 private:
  [[nodiscard]] const fs::path& file() const { return launch_.hosts.file; }
  [[nodiscard]] std::string at(const HostEntry& entry) const { return concat(file().string(), ":", entry.line, ": "); }
  [[nodiscard]] int least() const { return agent_ ? agent_->min_nodes : 1; }
  [[nodiscard]] int most() const { return agent_ ? agent_->max_nodes : 1; }
  [[nodiscard]] bool may_come_back() const { return agent_ && (agent_->max_restarts > 0 || least() < most()); }

  // More hosts than the maximum are useful only if one may be lost.
  void leave_out_spares() {
    if (may_come_back() || static_cast<int>(entries_.size()) <= most()) return;
    std::cerr << "lockstep: --nnodes " << launch_.nodes.nodes << ": only the first of the " << entries_.size()
              << " hosts of " << file().string() << " are used; with --max-restarts the others would be spares\n";
    entries_.resize(static_cast<std::size_t>(most()));
  }

  // The name by which the other hosts reach the first one.
  [[nodiscard]] std::string meeting_host() const {
    const HostEntry& first = entries_.front();
    const std::string host = is_this_host(first) ? first.host : launch::ssh_host_name(ssh_, first);
    const auto is_elsewhere = [](const HostEntry& each) { return !net::is_loopback(each.host) && !is_this_host(each); };
    if (net::is_loopback(host) && std::ranges::any_of(entries_, is_elsewhere)) {
      throw UsageError(concat(at(first), "the other hosts cannot reach this one as ", host,
                              "; write a name or address that they know, or give --rdzv-endpoint HOST:PORT"));
    }
    return host;
  }

  [[nodiscard]] std::string ranks_of(const HostEntry& entry) const {
    if (!launch_.ranks) return entry.slots > 0 ? std::to_string(entry.slots) : launch_.usual_ranks;
    const bool is_number = launch_.ranks->find_first_not_of("0123456789") == std::string::npos;
    if (is_number && entry.slots > 0 && std::stol(*launch_.ranks) > entry.slots) {
      throw UsageError(concat(at(entry), entry.host, " has slots=", entry.slots, ", but --nproc ", *launch_.ranks,
                              " asks for more on each host"));
    }
    return *launch_.ranks;
  }

  [[nodiscard]] launch::HostStart start(const HostEntry& entry) const {
    const std::string program = fs::read_symlink("/proc/self/exe").string();
    if (is_this_host(entry)) return {entry, {program, "launch", kAgentOption}, true};
    return {entry, launch::ssh_command(ssh_, entry, program, concat("launch ", kAgentOption)), false};
  }

  // The arguments of `lockstep launch` on a host, as if typed there.
  [[nodiscard]] Arguments arguments(std::size_t host, int port) const {
    Arguments arguments = options_for_agents(launch_.options);
    const auto add = [&arguments](std::initializer_list<std::string> words) {
      arguments.insert(arguments.end(), words);
    };
    add({"--nnodes", launch_.nodes.nodes, "--nproc", ranks_[host]});
    if (most() > 1) {
      add({"--rdzv-endpoint", net::SocketAddress{agent_->endpoint.host, port}.text()});
      const std::string& given = launch_.nodes.configuration;
      add({"--rdzv-conf", concat(given, given.empty() ? "" : ",", "is_host=", host == 0 ? "true" : "false")});
      if (static_cast<int>(host) < most()) add({"--node-rank", std::to_string(host)});
    }
    add({"--"});
    arguments.insert(arguments.end(), launch_.program.begin(), launch_.program.end());
    return arguments;
  }

  HostsLaunch launch_;
  std::vector<HostEntry> entries_;
  launch::SshOptions ssh_;
  std::optional<launch::AgentOptions> agent_;  // none: a single host without restarts
  std::vector<std::string> ranks_;             // per host
};

}  // namespace

void add_hosts_options(CommandLine& app, HostsOptions& options) {
  app.add_option("--hostfile", options.file,
                 "Start the job on the hosts that this file lists, by ssh: a line for each, host slots=N, as Open MPI "
                 "and DeepSpeed read it. --nproc says how many ranks on each in place of slots")
      .type_name("FILE")
      .without_default();
  app.add_option("--ssh-options,--ssh_options", options.ssh_options,
                 "With --hostfile: further options of ssh, in one word: '-p 2222 -i key' (LOCKSTEP_SSH names another "
                 "program than ssh)")
      .type_name("OPTIONS")
      .without_default();
  app.add_option("--env", options.variables,
                 "With --hostfile: a variable for the ranks, NAME as it is set here or NAME=VALUE, in addition to "
                 "LOCKSTEP_*, NCCL_* and OMP_NUM_THREADS. May be given several times")
      .type_name("NAME")
      .without_default();
}

int launch_on_hosts(HostsLaunch launch) {
  const HostsPlan plan(std::move(launch));
  return launch::run_on_hosts(plan.job());
}

}  // namespace lockstep::tool
