#pragma once
// The hub of the control plane, which runs at rank 0. Internal to this module.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/unique_fd.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/control/hub/call_ledger.hpp"
#include "comm/control/hub/group_ledger.hpp"
#include "comm/control/hub/judge.hpp"
#include "comm/control/hub/roster.hpp"
#include "comm/control/rank_connections.hpp"
#include "comm/control/wire.hpp"
#include "net/guarded_listener.hpp"

namespace lockstep::comm {

// Receives the messages of all ranks, records them in the roster and the two ledgers, and carries out the judge's
// decisions. Those four classes, in the folder hub/, use neither sockets nor threads.
//
// One thread serves thousands of ranks. So the cost of a message does not depend on the number of ranks, a tick checks
// each rank but not each pair, and texts about many ranks are short.
class ControlPlane::Hub {
 public:
  /// @param deadline  For all ranks to connect.
  Hub(const JobContext& context, const Deadline& deadline);
  ~Hub();

  /// Serves the ranks, from a thread of its own.
  void start();

  [[nodiscard]] const net::SocketAddress& address() const noexcept { return listener_.address(); }

  /// Waits until all ranks have said goodbye or are gone, then ends.
  void leave(const Deadline& deadline) noexcept;

 private:
  friend class HubHarness;  // used by the fuzzer, which plays the ranks and runs the steps itself
  using Clock = std::chrono::steady_clock;

  void run() noexcept;
  void step();
  void admit(net::AcceptedPeer peer);
  void serve_members();
  void serve(int rank);
  void disconnect(int rank) noexcept;
  void handle(int rank, const ControlMessage& message);
  void compare_posted(int rank, const ControlMessage& message);
  void carry_out(const Decision& decision);

  const JobContext context_;  // without store and control plane
  net::GuardedListener listener_;
  UniqueFd wake_up_;
  RankConnections connections_;
  Roster roster_;
  GroupLedger groups_;
  CallLedger calls_;
  Judge judge_;
  Clock::time_point last_look_;  // at all ranks
  Clock::time_point last_heartbeat_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool are_all_gone_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm
