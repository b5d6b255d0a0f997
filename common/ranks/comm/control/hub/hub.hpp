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
#include "comm/control/hub/rank_connections.hpp"
#include "comm/control/hub/roster.hpp"
#include "comm/control/wire.hpp"
#include "net/guarded_listener.hpp"

namespace lockstep::comm {

// Takes in what all ranks say, keeps it in the roster and the two ledgers, and does what the judge decides. Those four
// use neither sockets nor threads.
//
// One thread serves thousands of ranks. So a message costs the same however many ranks there are, a tick costs a look
// at each rank and not at each pair of them, and what is said about many ranks is short.
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
  friend class HubHarness;  // the fuzzer's, which plays the ranks and takes the steps itself
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

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool are_all_gone_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm
