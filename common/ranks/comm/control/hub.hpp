#pragma once
// The hub of the control plane, which runs at rank 0; not for others.
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/control/call_ledger.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/control/wire.hpp"
#include "net/guarded_listener.hpp"
#include "net/ready_set.hpp"

namespace lockstep::comm {

// Judges: every tick it looks at what all ranks said and decides whether the job has failed, and by whose fault.
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
    std::map<int, Members> members;    // of the groups it has registered
    RankStatus destroyed;              // the last of groups that it has destroyed, and others of them have not
    bool has_answered = false;         // to the query before a verdict
    bool is_watched_for_room = false;  // beside what arrives: the kernel has not taken all that was sent
  };
  // A failure about which all ranks are asked before it is told.
  struct Inquiry {
    Failure failure;
    int reporter;  // the rank that gave it up, or saw the disagreement
    Deadline deadline;
    std::size_t first_unanswered = 0;  // all ranks before this one have answered, or cannot
  };
  // A collective that ranks of a group run.
  struct Running {
    Fingerprint call;
    int rank;                           // the first of those that run it
    std::chrono::milliseconds longest;  // that any of them has run it
  };
  using RunningBySequence = std::map<std::uint64_t, Running>;
  using GroupKey = std::pair<int, Members>;
  using CollectiveKey = std::pair<GroupKey, std::uint64_t>;

  void run() noexcept;
  void step();
  void admit(net::AcceptedPeer peer);
  void serve_members();
  void serve(int rank);
  void disconnect(Rank& rank) noexcept;
  void watch_for_room(int rank);
  void handle(int rank, const ControlMessage& message);
  void register_group(int rank, int group, const std::vector<int>& members);
  void forget_group(int rank, int group, const RankStatus& last);
  void compare_posted(int rank, const ControlMessage& message);
  void send(int rank, const ControlMessage& message);
  void broadcast(const ControlMessage& message);
  void send_heartbeats();
  void judge();
  void judge_joining();
  void judge_silence(Clock::time_point now);
  void judge_progress();
  [[nodiscard]] std::map<GroupKey, RunningBySequence> running_collectives() const;
  void compare(const GroupKey& group, const RunningBySequence& running);
  void report_left(const GroupKey& group, const RunningBySequence& running);
  void report_missing(const GroupKey& group, const Running& running);
  void judge_pair(int number, int group, const PairStatus& pair);
  void open_inquiry(const Failure& failure, int reporter);
  void close_inquiry();
  void tell(const Failure& failure);
  [[nodiscard]] Failure explained(Failure failure, int reporter) const;
  [[nodiscard]] bool explain_timeout(Failure& failure, int number, std::set<CollectiveKey>& seen) const;
  void name_outlier(Failure& failure, int reporter) const;

  // The ranks of a group as rank `number` knows it. Who registered equal lists has the same one.
  [[nodiscard]] const Members& members_of(int number, int group) const;
  // What rank `other` says about a group; null: it has entered nothing of it, or means other ranks by this number.
  [[nodiscard]] const GroupStatus* status_of(int other, const GroupKey& group) const;
  // "has left" the job, or "has destroyed" the group; empty: neither.
  [[nodiscard]] std::string how_it_left(int other, const GroupKey& group) const;
  [[nodiscard]] std::vector<int> missing_ranks(const GroupKey& group, std::uint64_t sequence) const;
  // The rank of the job at the other end, where it has not begun its part; else -1.
  [[nodiscard]] int missing_peer(int number, int group, const PairStatus& pair) const;
  [[nodiscard]] std::string describe_ranks(const std::vector<int>& ranks, const GroupKey& group) const;
  // Whether rank `number` waits, in this message, for a rank that waits for another in one of its own, and so on round
  // a circle: all send first, or all receive first.
  [[nodiscard]] bool is_in_circle(int number, int group, const PairStatus& pair) const;
  [[nodiscard]] std::string describe_pair(int number, int group, const PairStatus& pair) const;
  [[nodiscard]] std::string describe_rank(int number) const;
  // What stands before a rank's status where it has not answered the inquiry, and what is known may be old; else empty.
  [[nodiscard]] std::string_view unanswered(int number) const;
  [[nodiscard]] std::string describe_all() const;

  const JobContext context_;  // without store and control plane
  net::GuardedListener listener_;
  net::SocketAddress address_;
  UniqueFd wake_up_;
  const Members everybody_;  // the ranks of a group that nobody has registered
  net::ReadySet ready_;      // the connections of ranks, by number
  std::vector<Rank> ranks_;
  int joined_count_ = 0;
  bool is_ready_ = false;
  std::map<int, std::vector<std::weak_ptr<const std::vector<int>>>> lists_;  // those in use, by group
  const Deadline join_deadline_;
  std::optional<Failure> failure_;  // what all have been told, and who comes later is told
  std::optional<Inquiry> inquiry_;
  CallLedger ledger_;
  std::set<std::string> reported_;  // collectives and pairs of which it has been said who is missing
  Clock::time_point last_step_;
  Clock::time_point last_look_;  // at all ranks
  Clock::time_point last_heartbeat_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool are_all_gone_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm
