#pragma once
// The hub of the control plane, which runs at rank 0; not for others.
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/call_ledger.hpp"
#include "comm/control_plane.hpp"
#include "comm/control_wire.hpp"
#include "net/guarded_listener.hpp"

namespace lockstep::comm {

// Judges: every tick it looks at what all ranks said and decides whether the job has failed, and by whose fault.
class ControlPlane::Hub {
 public:
  /// @param deadline  For all ranks to connect.
  Hub(const JobContext& context, const Deadline& deadline);
  ~Hub();

  /// Serves the ranks, from a thread of its own.
  void start();

  [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }

  /// Waits until all ranks have said goodbye or are gone, then ends.
  void leave(const Deadline& deadline) noexcept;

 private:
  friend class HubHarness;  // the fuzzer's, which plays the ranks and takes the steps itself
  using Clock = std::chrono::steady_clock;
  struct Rank {
    std::unique_ptr<net::FrameStream> stream;  // null: not connected, left or dead
    bool has_joined = false;
    bool has_left = false;
    Clock::time_point last_heard;
    RankStatus status;
    std::map<int, std::vector<int>> members;  // of the groups it has registered
    RankStatus destroyed;                     // the last of groups that it has destroyed, and others of them have not
    bool has_answered = false;                // to the query before a verdict
  };
  // A failure about which all ranks are asked before it is told.
  struct Inquiry {
    Failure failure;
    int reporter;  // the rank that gave it up, or saw the disagreement
    Deadline deadline;
  };

  void run() noexcept;
  void step();
  void admit(net::AcceptedPeer peer);
  void serve_members();
  void serve(int rank);
  void handle(int rank, const ControlMessage& message);
  void forget_group(int rank, int group, const RankStatus& last);
  void compare_posted(int rank, const ControlMessage& message);
  void send(int rank, const ControlMessage& message);
  void broadcast(const ControlMessage& message);
  void send_heartbeats();
  void judge();
  void judge_joining();
  void judge_silence(Clock::time_point now);
  void judge_progress();
  void compare(int number, int group, const GroupStatus& status);
  void report_missing(int number, int group, const GroupStatus& status);
  void judge_pair(int number, int group, const PairStatus& pair);
  void open_inquiry(const Failure& failure, int reporter);
  void close_inquiry();
  void tell(const Failure& failure);
  [[nodiscard]] Failure explained(Failure failure, int reporter) const;
  [[nodiscard]] bool explain_timeout(Failure& failure, int number) const;
  void name_outlier(Failure& failure, int reporter) const;

  // The ranks of a group as rank `number` knows it.
  [[nodiscard]] std::vector<int> members_of(int number, int group) const;
  // Whether both ranks mean the same ranks when they say `group`.
  [[nodiscard]] bool is_same_group(int first, int second, int group) const;
  // What rank `other` says about the group that rank `number` calls `group`; null: it has entered nothing of it.
  [[nodiscard]] const GroupStatus* status_of(int other, int number, int group) const;
  // "has left" the job, or "has destroyed" what rank `number` calls `group`; empty: neither.
  [[nodiscard]] std::string how_it_left(int other, int number, int group) const;
  [[nodiscard]] std::vector<int> missing_ranks(int number, int group, std::uint64_t sequence) const;
  // The rank of the job at the other end, where it has not begun its part; else -1.
  [[nodiscard]] int missing_peer(int number, int group, const PairStatus& pair) const;
  [[nodiscard]] std::string describe_ranks(const std::vector<int>& ranks, int number, int group) const;
  [[nodiscard]] std::string describe_pair(int number, int peer, const PairStatus& pair) const;
  [[nodiscard]] std::string describe_rank(int number) const;
  [[nodiscard]] std::string describe_all() const;

  const JobContext context_;  // without store and control plane
  net::GuardedListener listener_;
  net::SocketAddress address_;
  UniqueFd wake_up_;
  std::vector<Rank> ranks_;
  bool is_ready_ = false;
  const Deadline join_deadline_;
  std::optional<Failure> failure_;  // what all have been told, and who comes later is told
  std::optional<Inquiry> inquiry_;
  CallLedger ledger_;
  std::set<std::string> reported_;  // collectives and pairs of which it has been said who is missing
  Clock::time_point last_step_;
  Clock::time_point last_heartbeat_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool are_all_gone_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm
