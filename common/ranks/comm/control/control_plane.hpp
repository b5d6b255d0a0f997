#pragma once
/// @file
/// The side channel by which every rank learns who died, who is silent, who is missing and who disagrees.
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "comm/fingerprint.hpp"
#include "comm/job_context.hpp"

namespace lockstep::comm {

/// Why a job failed. Values appear on the wire; never renumber.
enum class FailureKind : std::uint8_t {
  kDied = 0,      ///< The connection of a rank closed without a goodbye.
  kSilent = 1,    ///< No heartbeat for the liveness limit.
  kAborted = 2,   ///< A rank gave up and said why.
  kMismatch = 3,  ///< Ranks called different collectives.
  kTimeout = 4,   ///< A collective stayed incomplete.
  kLeft = 5,      ///< A rank finished while others wait for it, in a collective, a send or a recv.
};

/// How far a call has come.
enum class CallStep {
  kIssued,   ///< By this rank's caller.
  kStarted,  ///< It runs, on the worker thread or the caller's.
  kEnded,    ///< Well or not.
};

/// What all ranks are told when the job fails.
struct Failure {
  FailureKind kind = FailureKind::kAborted;  ///< What happened.
  int culprit = -1;                          ///< A rank, or -1 where it is not one rank's fault.
  std::string message;                       ///< For people: who, what, how long.
};

/// The exception for a failure as rank `rank` sees it: MismatchError, TimeoutError or PeerFailedError; the message
/// begins with `context` ("rank 2: all_reduce #14") where it is not empty.
[[nodiscard]] std::exception_ptr to_exception(const Failure& failure, const std::string& context);

/// One rank's end. A thread of its own keeps one authenticated connection to the hub, which runs at rank 0: heartbeats
/// and the collective last entered go there, failures come back. It is never in the path of data: entering a
/// collective, a send or a recv writes to memory, and the thread reports it only if it takes long.
///
/// SIGUSR1 makes every ControlPlane of the process log what its rank is in and its last collectives; the handler is
/// installed by the first one, unless the program has one of its own.
///
/// Thread safety: any thread. Destruction says goodbye, unless an exception unwinds this thread: then the others are
/// told that this rank failed. At rank 0 destruction waits for the goodbyes of the others (at most 2 s).
class ControlPlane {
 public:
  /// Connects to the hub (at rank 0: starts it and publishes its address in the store) and waits until all ranks have.
  /// @param context  Rank, world size, token, generation, limits and store.
  /// @throws TimeoutError     Not all ranks are connected by `deadline`; names those that are missing.
  /// @throws PeerFailedError  A rank has connected, and died or given up before all had; names it.
  ControlPlane(const JobContext& context, const Deadline& deadline);
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  /// The number of one more group of all ranks of the job. All ranks make those in the same order, so they get the same
  /// numbers, whatever groups of some ranks they have made in between. No other group of the job has this number.
  [[nodiscard]] int next_group_id() noexcept;

  /// The number of the next split that this rank takes part in, if the others' are not ahead.
  [[nodiscard]] int next_split() const noexcept;
  /// Takes part in a split and returns the number of this rank's new group, which no other group of the job has: groups
  /// of one split differ in their first member, and no rank takes part twice in splits of the same number.
  /// @param split         The largest next_split() of the ranks that split a group together: they may have taken part
  /// in
  ///                      different ones before.
  /// @param first_member  The job's rank of the new group's rank 0; any rank where this rank joins none.
  [[nodiscard]] int take_part_in_split(int split, int first_member) noexcept;

  /// Says which ranks belong to a group; one that is never registered has all ranks of the job. Before the group's
  /// first collective. Only ranks that name the same members for the same number are compared with each other.
  /// @param members  Ranks of the job in the order of the group's ranks, each once.
  void register_group(int group, std::vector<int> members);
  /// This rank has destroyed the group, and tells nothing of it any more. Who waits for it there in something that it
  /// has never entered is told so. Once all members have destroyed the group, nobody remembers it.
  void forget_group(int group) noexcept;

  /// A call of this rank has come to the next step. Several sends and recvs may run at once, and beside a collective.
  /// @param call  Of a send or recv its root is the peer (rank in the group); its sequence counts, from 0 and without
  ///              gaps, the sends (recvs) of this rank to (from) that peer in this group.
  void note(int group, const Fingerprint& call, CallStep step) noexcept;

  /// Tells the hub what this rank has issued, for backends whose messages do not say which call they belong to. Where a
  /// rank of the group posts another call of the same number, the job fails with a mismatch that names both. Returns at
  /// once.
  /// @param call  A collective, or a send or recv, numbered as for note(); all of a group are posted, or none.
  void post(int group, const Fingerprint& call);
  /// Blocks until all who take part in `call`, which this rank has posted, are known to have posted the same. Once rank
  /// 0 has left, nobody compares any more: then it returns.
  /// @throws MismatchError, PeerFailedError, TimeoutError  The job has failed, or `deadline` is over.
  void wait_until_agreed(int group, const Fingerprint& call, const Deadline& deadline) const;

  /// Fails the job on all ranks. The first failure wins. Returns at once.
  void abort(const Failure& failure) noexcept;

  /// What the others are told if this rank leaves while an exception unwinds, in place of that it did. For an error
  /// that several ranks have found together. Holds until this rank issues another call.
  void set_last_words(Failure failure) noexcept;

  /// The job's failure, if any.
  [[nodiscard]] std::shared_ptr<const Failure> failure() const noexcept;
  /// Waits for a failure to become known. @return  Null where none is by `deadline`.
  [[nodiscard]] std::shared_ptr<const Failure> wait_for_failure(const Deadline& deadline) const;

  /// Told about the job's failure.
  using FailureCallback = std::function<void(const Failure&)>;
  /// Calls `on_failure` once, from any thread, when the job fails (at once if it has). @return  For unsubscribe().
  [[nodiscard]] int subscribe(FailureCallback on_failure);
  /// Afterwards the callback is not running and will not be called. Not from within the callback.
  void unsubscribe(int subscription) noexcept;

 private:
  friend class HubHarness;  // of the fuzzers
  class Hub;
  class Member;
  struct Shared;
  const int world_size_;
  std::unique_ptr<Hub> hub_;        // at rank 0
  std::unique_ptr<Shared> shared_;  // with the member's thread
  std::unique_ptr<Member> member_;
};

}  // namespace lockstep::comm
