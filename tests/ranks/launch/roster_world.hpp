#pragma once
/// @file
/// Hosts, their hub's roster and the messages between them, for trying what can happen to them.
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/hosts/roster/agent_roster.hpp"

namespace lockstep::launch::explore {

/// One thing that can happen next.
struct Event {
  enum class Kind {
    kHear,      // the hub hears the next message of a connection, or that it has ended
    kDeliver,   // a host gets the next message of the hub
    kFinish,    // a host's ranks end: well, or as they were told
    kMiss,      // a host's ranks fail because those of another one do not answer
    kComeBack,  // the launcher of a host is started again
    kTime,      // nothing else happens until the roster's deadline
    // Faults:
    kFail,    // a rank fails by itself
    kKill,    // a rank is killed
    kDie,     // a host goes down; what it has sent last is lost
    kBreak,   // a host's connection breaks, and it makes another one
    kLeave,   // a host is asked to end by SIGTERM
    kCancel,  // by Ctrl-C
    kLate,    // the deadline passes though messages are on their way
  };
  Kind kind = Kind::kHear;
  int whom = 0;  // a connection for kHear, else a host
};

[[nodiscard]] inline bool is_fault(Event::Kind kind) { return kind >= Event::Kind::kFail; }

/// A job to try.
struct Job {
  const char* name;
  int min_hosts, max_hosts, max_restarts;
  int faults;
};

/// A job at one moment. Copies are independent of each other.
class World {
 public:
  explicit World(const Job& job);

  /// The possible next events. Empty: the job is over, or stuck.
  [[nodiscard]] std::vector<Event> events(int faults_left) const;
  /// @return  Which promise the roster has broken; empty: none.
  std::string apply(Event event);
  /// Equal texts, equal futures.
  [[nodiscard]] std::string state();
  /// To be called when nothing can happen any more. @return  As apply().
  std::string check_end();

 private:
  struct Connection {
    int host = 0;
    std::deque<AgentMessage> to_hub, to_host;
    bool is_closed = false;  // by the host: the hub hears of it after what was sent before
    bool has_verdict = false;
  };

  struct Host {
    int connection = -1;  // -1: none
    bool is_running = false, is_told = false, is_leaving = false, is_down = false;
    bool has_returned = false;  // its launcher was started again
    StartMessage start;         // of its last generation
    int last_generation = -1;
    std::optional<int> signal;  // that it passes to its ranks
  };

  using Time = Deadline::Clock::time_point;

  [[nodiscard]] JoinMessage join_of(int host) const;
  [[nodiscard]] static RosterActions actions(World* world);

  [[nodiscard]] int count() const { return static_cast<int>(hosts_.size()); }
  Host& at(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  [[nodiscard]] const Host& at(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  void connect(int host);
  void send(int host, const AgentMessage& message);
  void close(int host);
  void complain(const std::string& text) {
    if (complaint_.empty()) complaint_ = text;
  }

  void hear(int agent);
  void deliver(int host);
  void end_ranks(int host, int exit_code);
  void fail(int host, int exit_code);
  void leave(int host, int signal);
  void take_sent(int agent, const AgentMessage& message);
  void check_starts();
  [[nodiscard]] bool has_peer_ended_badly(int host) const;

  Job job_;
  std::vector<Host> hosts_;
  std::map<int, Connection> connections_;
  int next_connection_ = 0;
  Time now_{};
  std::map<int, StartMessage> starts_;  // sent during the event, by connection
  std::optional<VerdictMessage> verdict_;
  std::set<int> failed_generations_;
  std::string complaint_;
  AgentRoster roster_;
};

}  // namespace lockstep::launch::explore
