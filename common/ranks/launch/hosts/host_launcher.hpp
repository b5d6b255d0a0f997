#pragma once
/// @file
/// Runs a job on a list of hosts from one of them: starts and supervises an agent (agent.hpp) on each.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/hosts/host_member.hpp"
#include "launch/hosts/host_order.hpp"

namespace lockstep::launch {

/// The hosts of a job, their orders and time limits.
struct HostJob {
  std::vector<HostStart> hosts;       ///< At least one. The agents meet on the first.
  std::string list = "the hostfile";  ///< Source of the hosts' lines, for messages.
  std::string mark;                   ///< Of the orders.
  int port = 0;                       ///< Of the meeting; 0: the first host's agent chooses one and reports it.
  bool has_meeting = true;            ///< A single host needs no meeting.
  /// Makes a host's order. @param port  Of the meeting; 0 for the first host, which then chooses one.
  std::function<HostOrder(std::size_t host, int port)> order;
  std::size_t least_hosts = 1;        ///< Minimum number for the job, including the first.
  std::size_t most_hosts = SIZE_MAX;  ///< Further hosts are spares, started after the others.
  /// Whether a lost host may come back: there are restarts, or hosts may come and go.
  bool may_come_back = false;
  int preempt_signal = 0;                      ///< JobOptions::preempt_signal
  std::chrono::milliseconds join{60'000};      ///< For an agent to answer, and for a host to come back.
  std::chrono::milliseconds liveness{15'000};  ///< The agents end after silence of this length.
  std::chrono::milliseconds grace{30'000};     ///< Time that agents give their ranks after SIGTERM.
  std::chrono::milliseconds backoff{1'000};    ///< Before a host is retried; doubles each time, up to 30 s.
  std::string name = "lockstep";               ///< Prefix of this process's own lines.
};

/// Runs a job to its end. The output of ranks and agents goes to this process's standard output and error, in whole
/// lines; identical lines of several agents are shown once.
///
/// A host whose agent cannot be started ends the job before it begins, with one message that names the host, its line
/// and what to try, unless `least_hosts` remain without it. A host that is lost later is retried if `may_come_back`,
/// for `join` or, if enough others remain, until the job ends. Meanwhile the agents' hub decides about the job.
///
/// SIGINT and SIGHUP to this process are forwarded to all agents, SIGTERM and `preempt_signal` to the first, which ends
/// the job on all hosts; SIGUSR1 makes each agent print its ranks' last collectives. The agents end themselves and all
/// of their ranks when this process ends for any reason or is silent for `liveness`.
///
/// @return  The job's exit code from the first host's agent; 128 + signal; 1 if that host was lost or never began.
/// @throws IoError  ssh cannot be started on this host, at the first attempt.
[[nodiscard]] int run_on_hosts(const HostJob& job);

}  // namespace lockstep::launch
