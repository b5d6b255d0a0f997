#pragma once
/// @file
/// Runs a job on a list of hosts from one of them: starts an agent (agent.hpp) on each, and looks after these.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/hosts/host_member.hpp"
#include "launch/hosts/host_order.hpp"

namespace lockstep::launch {

/// What to start where, and how patiently.
struct HostJob {
  std::vector<HostStart> hosts;       ///< At least one. The agents meet at the first.
  std::string list = "the hostfile";  ///< Of which these are lines, for messages.
  std::string mark;                   ///< That the orders have.
  int port = 0;                       ///< Where the agents meet; 0: the first one's agent chooses, and reports it.
  bool has_meeting = true;            ///< Whether they meet at all; a single host need not.
  /// What a host is told. @param port  Of the meeting; 0 for the first host, which is to choose one.
  std::function<HostOrder(std::size_t host, int port)> order;
  std::size_t least_hosts = 1;        ///< Without so many of them, the first included, there is no job.
  std::size_t most_hosts = SIZE_MAX;  ///< Hosts beyond these are spares: they come once the others are there.
  /// Whether a host that is lost may come back: there are restarts, or hosts may come and go.
  bool may_come_back = false;
  int preempt_signal = 0;                      ///< JobOptions::preempt_signal
  std::chrono::milliseconds join{60'000};      ///< For an agent to answer, and for a host to come back.
  std::chrono::milliseconds liveness{15'000};  ///< The agents end without a sign of life for so long.
  std::chrono::milliseconds grace{30'000};     ///< That the agents leave their ranks after SIGTERM.
  std::chrono::milliseconds backoff{1'000};    ///< Before a host is tried again; twice as long each time, to 30 s.
  std::string name = "lockstep";               ///< Begins this process's own lines.
};

/// Runs a job to its end. What ranks and agents print goes to this process's standard output and error, whole lines at
/// a time; what several agents say alike is shown once.
///
/// A host whose agent cannot be started ends the job before it begins, with one message that names the host, its line
/// and what to try, unless `least_hosts` are left without it. A host that is lost later is tried again where
/// `may_come_back`, for `join` or, where enough others are left, until the job ends. What becomes of the job meanwhile
/// is decided by the agents' hub.
///
/// SIGINT and SIGHUP to this process go on to all agents, SIGTERM and `preempt_signal` to the first, which ends the job
/// on all hosts; SIGUSR1 has each agent print its ranks' last collectives. The agents end themselves and all of their
/// ranks when this process ends, however that happens, or is silent for `liveness`.
///
/// @return  The job's exit code as the first host's agent has it; 128 + signal; 1 where it was lost or never began.
/// @throws IoError  ssh cannot be started here at all.
[[nodiscard]] int run_on_hosts(const HostJob& job);

}  // namespace lockstep::launch
