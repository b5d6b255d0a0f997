#include "launch/hosts/agent.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <iostream>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "launch/hosts/agent_hub.hpp"
#include "launch/hosts/agent_link.hpp"
#include "launch/local/wait_status.hpp"
#include "launch/watching/job_log.hpp"
#include "net/tcp_listener.hpp"
#include "net/token.hpp"

namespace lockstep::launch {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";  // - 1: keep the last zero
}

// If nobody else can join, a random token will do.
std::string token_of_job(const AgentOptions& options) {
  if (options.endpoint.port != 0 || options.on_meeting) return net::find_token(options.endpoint);
  const auto given = net::given_token();
  return given ? *given : net::make_token();
}

// Only the host that has an address can listen there.
bool is_own_address(const std::string& host) {
  try {
    const net::TcpListener probe({host, 0});
    return true;
  } catch (const Error&) {  // another host's, or a name that cannot be resolved
    return false;
  }
}

bool should_serve(const AgentOptions& options) {
  if (options.node_rank >= 0) return options.node_rank == 0;
  return options.is_host ? *options.is_host : is_own_address(options.endpoint.host);
}

// For an agent whose launcher may have gone (AgentOptions::is_led).
LeaveMessage leave_message(int signal, bool is_led) { return {is_led && signal == SIGHUP ? kLauncherLost : signal}; }

/// The other hosts, while ranks of this one run.
class LinkedPeers final : public JobPeers {
 public:
  LinkedPeers(AgentLink& link, int generation, bool is_led) : link_(link), generation_(generation), is_led_(is_led) {}

  // A lost link delivers nothing more.
  [[nodiscard]] int fd() const noexcept override { return is_lost_ ? -1 : link_.fd(); }

  [[nodiscard]] std::optional<EndRequest> end_request() override {
    take_messages();
    return std::exchange(request_, std::nullopt);
  }

  [[nodiscard]] std::optional<std::string> notice() override {
    take_messages();
    if (notices_.empty()) return std::nullopt;
    std::string text = std::move(notices_.front());
    notices_.pop_front();
    return text;
  }

  void report_failure(const RankFailure& failure, int exit_code) override {
    link_.send(FailureMessage{generation_, failure.rank, exit_code, failure.what, failure.last_lines});
  }

  void report_signal(int signal) override {
    signal_ = signal;
    link_.send(leave_message(signal, is_led_));
  }

  /// The signal by which this host was asked to end.
  [[nodiscard]] std::optional<int> signal() const noexcept { return signal_; }

 private:
  void take_messages() {
    while (auto message = link_.receive()) {
      if (auto* notice = std::get_if<NoticeMessage>(&*message)) notices_.push_back(std::move(notice->text));
      const auto* end = std::get_if<EndMessage>(&*message);
      if (end == nullptr || end->generation != generation_) continue;
      request_ = {end->is_orderly ? EndRequest::Manner::kOrderly : EndRequest::Manner::kFailure, end->reason};
    }
    const auto loss = link_.loss();
    if (loss && !std::exchange(is_lost_, true)) request_ = {EndRequest::Manner::kFailure, *loss};
  }

  AgentLink& link_;
  int generation_;
  bool is_led_;
  std::optional<EndRequest> request_;
  std::deque<std::string> notices_;
  std::optional<int> signal_;
  bool is_lost_ = false;
};

/// One run of run_agent().
class Agent {
 public:
  explicit Agent(const AgentOptions& options) : options_(options), token_(token_of_job(options)) {
    join_ = {.job = options.id,
             .role = options.role,
             .min_nodes = options.min_nodes,
             .max_nodes = options.max_nodes,
             .max_restarts = options.max_restarts,
             .node_rank = options.node_rank,
             .host = host_name(),
             .process = ::getpid(),
             .instance = make_token(),
             .local_world_size = options.job.world_size};
    if (should_serve(options)) serve();
    connect();
  }

  int run() {
    while (!exit_code_) {
      std::array<pollfd, 2> watched{{{link_->fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}}};
      ::poll(watched.data(), watched.size(), -1);
      while (const int signal = signals_.take()) take_signal(signal);
      while (auto message = exit_code_ ? std::nullopt : link_->receive()) take_message(*message);
      if (exit_code_) break;
      if (const auto loss = link_->loss()) take_loss(*loss);
    }
    return *exit_code_;
  }

 private:
  void serve() {
    HubOptions hub{.address = options_.endpoint,
                   .token = token_,
                   .own = join_,
                   .join = options_.join,
                   .last_call = options_.last_call,
                   .liveness = options_.liveness,
                   .backoff = options_.backoff};
    hub.later_call = std::min(hub.later_call, hub.last_call);
    try {
      hub_ = std::make_unique<AgentHub>(std::move(hub));
      if (options_.on_meeting) options_.on_meeting(hub_->address());
    } catch (const IoError& error) {
      if (error.error_number() == EADDRINUSE && options_.node_rank < 0)
        return;  // another launcher of this host was first
      throw IoError(concat(error.what(), "; --rdzv-endpoint must be an address of the host with node rank 0, and a ",
                           "port that no other job uses"));
    }
  }

  void connect() {
    is_welcome_ = false;
    const net::SocketAddress hub = hub_ ? hub_->address() : options_.endpoint;
    link_.reset();
    link_ = std::make_unique<AgentLink>(LinkOptions{hub, token_, options_.join, options_.liveness}, join_);
  }

  void take_message(const AgentMessage& message) {
    if (std::holds_alternative<WelcomeMessage>(message)) return welcome(std::get<WelcomeMessage>(message));
    if (const auto* refusal = std::get_if<RefusalMessage>(&message)) throw Error(refusal->reason);
    if (const auto* notice = std::get_if<NoticeMessage>(&message)) return say(notice->text);
    if (const auto* start = std::get_if<StartMessage>(&message)) return run_generation(*start);
    if (const auto* verdict = std::get_if<VerdictMessage>(&message)) return finish(*verdict);
  }

  void welcome(const WelcomeMessage& message) {
    is_welcome_ = true;
    if (options_.max_nodes == 1 || options_.on_meeting) return;  // no other host has to be started by hand
    const std::string hosts = options_.min_nodes == options_.max_nodes
                                  ? concat(options_.max_nodes)
                                  : concat(options_.min_nodes, " to ", options_.max_nodes);
    say(concat(hub_ ? "the hosts meet here" : concat("met ", message.hub), ", at ",
               (hub_ ? hub_->address() : options_.endpoint).text(), "; waiting for ", hosts, " hosts"));
  }

  void run_generation(const StartMessage& start) {
    join_.last_generation = start.generation;
    if (start.group_world_size > 1 || start.generation > 0) {
      say(concat("generation ", start.generation, ": node rank ", start.group_rank, " of ", start.group_world_size,
                 ", ranks ", start.first_rank, " to ", start.first_rank + options_.job.world_size - 1,  // - 1: the last
                 " of ", start.world_size));
    }
    LinkedPeers peers(*link_, start.generation, options_.is_led);
    if (start.generation > 0 && options_.job.log)
      options_.job.log->restart(start.generation,
                                concat("restart ", start.restart_count, ", world size ", start.world_size));
    const HostShare share{.generation = start.generation,
                          .first_rank = start.first_rank,
                          .variables = variables(start),
                          .peers = &peers,
                          .signals = &signals_};
    const JobResult result = run_share(options_.job, share);
    link_->send(EndedMessage{start.generation, result.exit_code,
                             result.failure ? result.failure->last_lines : std::vector<std::string>{}});
    if (peers.signal()) leave(*peers.signal());
  }

  [[nodiscard]] Variables variables(const StartMessage& start) const {
    const auto text = [](int number) { return std::to_string(number); };
    const std::string store = net::SocketAddress{start.master_host, start.store_port}.text();
    return {{"WORLD_SIZE", text(start.world_size)},
            {"LOCAL_WORLD_SIZE", text(options_.job.world_size)},
            {"GROUP_RANK", text(start.group_rank)},
            {"GROUP_WORLD_SIZE", text(start.group_world_size)},
            {"ROLE_NAME", options_.role},
            {"ROLE_WORLD_SIZE", text(start.world_size)},
            {"MASTER_ADDR", start.master_host},
            {"MASTER_PORT", text(start.master_port)},
            {"TORCHELASTIC_RESTART_COUNT", text(start.restart_count)},
            {"TORCHELASTIC_MAX_RESTARTS", text(options_.max_restarts)},
            {"TORCHELASTIC_RUN_ID", options_.id},
            {"LOCKSTEP_STORE", store},
            {"LOCKSTEP_TOKEN", token_of_run(token_, start.nonce)},
            {"LOCKSTEP_GENERATION", text(start.generation)}};
  }

  // While no ranks run; otherwise run_share() handles signals.
  void take_signal(int signal) {
    if (signal == SIGUSR1) return say("SIGUSR1: no ranks run at present");
    say(concat(signal_name(signal), ": leaving the job"));
    if (is_leaving_) exit_code_ = 128 + signal;
    link_->send(leave_message(signal, options_.is_led));
    leave(signal);
  }

  // The others need the hub until they have ended.
  void leave(int signal) {
    is_leaving_ = true;
    if (!hub_) exit_code_ = 128 + signal;
  }

  void take_loss(const std::string& reason) {
    const bool may_join_again = options_.max_restarts > 0 || options_.min_nodes < options_.max_nodes;
    if (hub_ || !is_welcome_ || !may_join_again) {
      if (!is_welcome_) throw Error(reason);
      say(concat("first failure: ", reason));
      exit_code_ = 1;
      return;
    }
    say(concat(reason, "; joining again"));
    connect();
  }

  void finish(const VerdictMessage& verdict) {
    exit_code_ = verdict.exit_code;
    if (verdict.summary.empty() || options_.is_led) return;
    say(concat(verdict.summary, verdict.last_lines.empty() ? "" : "; its last lines:"));
    for (const std::string& line : verdict.last_lines) std::cerr << "  | " << line << "\n";
  }

  void say(const std::string& text) const { std::cerr << concat(options_.job.name, ": ", text, "\n") << std::flush; }

  const AgentOptions& options_;
  // Created before the threads of hub and link, which inherit the blocked signals.
  SignalScope signals_{options_.job.preempt_signal};
  std::string token_;
  JoinMessage join_;
  std::unique_ptr<AgentHub> hub_;
  std::unique_ptr<AgentLink> link_;  // after the hub: it is destroyed first, and the hub waits for that
  bool is_welcome_ = false;
  bool is_leaving_ = false;
  std::optional<int> exit_code_;
};

}  // namespace

int run_agent(const AgentOptions& options) {
  require(!options.job.command.empty(), "run_agent: no command");
  require(options.job.world_size >= 1, "run_agent: ", options.job.world_size, " ranks, must be at least 1");
  require(options.min_nodes >= 1 && options.max_nodes >= options.min_nodes, "run_agent: from ", options.min_nodes,
          " to ", options.max_nodes, " hosts");
  require(options.max_nodes == 1 || options.endpoint.port != 0 || options.on_meeting,
          "run_agent: several hosts need a port to meet at");
  return Agent(options).run();
}

}  // namespace lockstep::launch
