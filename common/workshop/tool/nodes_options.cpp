#include "tool/nodes_options.hpp"

#include <charconv>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "net/address.hpp"

namespace lockstep::tool {
namespace {

constexpr int kMostNodes = 65536;
constexpr int kRendezvousPort = 29400;  // torchrun's port for its c10d backend

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 1 || value > kMostNodes) return std::nullopt;
  return value;
}

// "2", "2:4"
std::pair<int, int> parse_nodes(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto least = parse_count(std::string_view(text).substr(0, colon));
  const auto most = colon == std::string::npos ? least : parse_count(std::string_view(text).substr(colon + 1));
  if (!least || !most || *least > *most) {
    throw UsageError(concat("--nnodes ", text, ": must be a number of hosts from 1 to ", kMostNodes,
                            ", or the least and the most of them: 2:4"));
  }
  return {*least, *most};
}

// "host", "host:29400", "[::1]:29400"
net::SocketAddress parse_endpoint(const std::string& text) {
  const bool has_port = text.find(':') != std::string::npos && !text.ends_with(']');
  try {
    return net::SocketAddress::parse(has_port ? text : concat(text, ":", kRendezvousPort));
  } catch (const FormatError& error) {
    throw UsageError(concat("--rdzv-endpoint: ", error.what()));
  }
}

double parse_seconds(const std::string& name, const std::string& text) {
  std::size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !(value >= 0) || value > 1e6)
    throw UsageError(concat("--rdzv-conf ", name, "=", text, ": must be a number of seconds from 0 to 1000000"));
  return value;
}

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

bool parse_is_host(const std::string& text) {
  static const std::map<std::string, bool> kMeanings = {{"1", true},  {"true", true},   {"True", true},
                                                        {"0", false}, {"false", false}, {"False", false}};
  const auto meaning = kMeanings.find(text);
  if (meaning == kMeanings.end()) throw UsageError(concat("--rdzv-conf is_host=", text, ": must be true or false"));
  return meaning->second;
}

// "join_timeout=600,last_call_timeout=30"
void read_rendezvous_configuration(const std::string& text, launch::AgentOptions& agent) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    begin = comma + 1;  // past the comma
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);  // after the '='
    if (name == "join_timeout") {
      agent.join = to_milliseconds(parse_seconds(name, value));
    } else if (name == "last_call_timeout") {
      agent.last_call = to_milliseconds(parse_seconds(name, value));
    } else if (name == "is_host") {
      agent.is_host = parse_is_host(value);
    } else {
      throw UsageError(concat("--rdzv-conf: ", part, " is none of join_timeout=SECONDS, last_call_timeout=SECONDS and ",
                              "is_host=true|false"));
    }
  }
}

net::SocketAddress endpoint_of(const NodesOptions& options) {
  if (options.endpoint) return parse_endpoint(*options.endpoint);
  if (!options.master_host) {
    throw UsageError(concat("--nnodes ", options.nodes, " needs --rdzv-endpoint HOST:PORT, the same on all hosts: an ",
                            "address of one of them, and a free port there"));
  }
  std::string host = *options.master_host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);  // - 2: both brackets
  return {host, options.master_port};
}

}  // namespace

void add_nodes_options(CommandLine& app, NodesOptions& options) {
  app.add_option("--nnodes", options.nodes,
                 "Number of hosts, or the least and the most of them (2:4): then hosts may come and go, and the ranks "
                 "start again with those that are there");
  app.add_option("--node-rank,--node_rank", options.node_rank,
                 "This host's number, from 0; host 0 is that of --rdzv-endpoint (if left out: as the hosts come)")
      .check(whole_number(0, kMostNodes - 1))
      .without_default();
  app.add_option("--rdzv-endpoint,--rdzv_endpoint", options.endpoint,
                 "HOST:PORT where the hosts meet: an address of one of them, and a free port there. All prove "
                 "LOCKSTEP_TOKEN");
  app.add_option("--rdzv-id,--rdzv_id", options.id, "The job's name, the same on all hosts");
  app.add_option("--rdzv-backend,--rdzv_backend", options.backend,
                 "Accepted for compatibility with torchrun: c10d or static, which mean the same here")
      .check(one_of({"c10d", "static"}));
  app.add_option(
         "--rdzv-conf,--rdzv_conf", options.configuration,
         "join_timeout=SECONDS until all hosts must be there (LOCKSTEP_JOIN_SECONDS), last_call_timeout=SECONDS "
         "for more than the least number of them, is_host=true on the host of --rdzv-endpoint")
      .without_default();
  app.add_option("--master-addr,--master_addr", options.master_host,
                 "As torchrun's: instead of --rdzv-endpoint, the address of host 0");
  app.add_option("--master-port,--master_port", options.master_port, "The port to go with --master-addr")
      .check(whole_number(1, 65535));
  app.add_option("--role", options.role, "What the ranks find as ROLE_NAME, the same on all hosts");
  app.add_option("--max-restarts,--max_restarts", options.max_restarts,
                 "How often the ranks of all hosts start again after a failure; hosts that come and go do not count. A "
                 "rank that exits with 2 (wrong options) ends a job of a fixed --nnodes at once")
      .check(whole_number(0, INT32_MAX));
  app.add_option("--restart-backoff", options.backoff_s,
                 "Seconds before the first restart; twice as many before each further one, up to 30")
      .check(real_number(0, 30));
  app.add_option("--monitor-interval,--monitor_interval", options.monitor_interval_s,
                 "Accepted for compatibility with torchrun: the end of a rank is noticed at once")
      .check(real_number(0))
      .without_default();
}

std::optional<launch::AgentOptions> agent_options(const NodesOptions& options, bool is_standalone) {
  launch::AgentOptions agent;
  std::tie(agent.min_nodes, agent.max_nodes) = parse_nodes(options.nodes);
  const bool has_endpoint = !is_standalone && (options.endpoint || options.master_host);
  if (is_standalone && agent.max_nodes > 1) throw UsageError("--standalone is a job on one host; --nnodes says more");
  if (agent.max_nodes == 1 && options.max_restarts == 0) return std::nullopt;
  if (agent.max_nodes > 1 || has_endpoint) agent.endpoint = endpoint_of(options);
  if (agent.max_nodes > 1 && agent.endpoint.port == 0 && !options.may_choose_port) {
    throw UsageError("--rdzv-endpoint: hosts cannot meet at port 0; give all of them the same port");
  }
  const bool has_fixed_rank = agent.min_nodes == agent.max_nodes && options.node_rank >= agent.max_nodes;
  if (has_fixed_rank) {
    throw UsageError(concat("--node-rank ", options.node_rank, " is out of range: with --nnodes ", options.nodes,
                            " node ranks are 0 to ", agent.max_nodes - 1));
  }
  agent.node_rank = agent.max_nodes == 1 ? 0 : options.node_rank;
  agent.id = options.id;
  agent.role = options.role;
  agent.max_restarts = options.max_restarts;
  agent.backoff = to_milliseconds(options.backoff_s);
  const comm::JobLimits limits = comm::limits_from_environment();
  agent.join = limits.join;
  agent.liveness = limits.liveness;
  read_rendezvous_configuration(options.configuration, agent);
  return agent;
}

}  // namespace lockstep::tool
