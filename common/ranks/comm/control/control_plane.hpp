#pragma once
/// @file
/// The side channel through which every rank learns which ranks died, are silent, are missing or disagree.
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
  kTimeout = 4,   ///< A collective did not complete in time.
  kLeft = 5,      ///< A rank finished while others wait for it in a collective, a send or a recv.
};

/// Progress of a call.
enum class CallStep {
  kIssued,   ///< By this rank's caller.
  kStarted,  ///< Running, on the worker thread or the caller's.
  kEnded,    ///< Successfully or not.
};

/// The report that all ranks get when the job fails.
struct Failure {
  FailureKind kind = FailureKind::kAborted;
  int culprit = -1;     ///< A rank, or -1 if no single rank is at fault.
  std::string message;  ///< For people: who failed, what happened, and after how long.
};

/// The exception for a failure as rank `rank` sees it: MismatchError, TimeoutError or PeerFailedError; the message
/// begins with `context` ("rank 2: all_reduce #14", once) unless it is empty.
[[nodiscard]] std::exception_ptr to_exception(const Failure& failure, const std::string& context);

/// One rank's end. Its thread keeps one authenticated connection to the hub, which runs at rank 0: it sends heartbeats
/// and the last collective entered, and receives failures. It is never in the data path: entering a collective, a send
/// or a recv only writes to memory, and the thread reports it only if it takes long.
///
/// SIGUSR1 makes every ControlPlane of the process log its rank's current and last collectives; the first one installs
/// the handler, unless the program has its own.
///
/// Thread safety: any thread. Destruction says goodbye, unless an exception unwinds this thread: then it tells the
/// others that this rank failed. At rank 0 destruction waits for the goodbyes of the others (at most 2 s).
class ControlPlane {
 public:
  /// Connects to the hub (at rank 0: starts it and publishes its address in the store) and waits until all ranks have.
  /// @param context  Rank, world size, token, generation, limits and store.
  /// @throws TimeoutError     Not all ranks are connected by `deadline`; names those that are missing.
  /// @throws PeerFailedError  A rank died or gave up before all had connected; names it.
  ControlPlane(const JobContext& context, const Deadline& deadline);
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  /// A new number for a group of all ranks of the job, unique in the job. All ranks create such groups in the same
  /// order, so they get the same numbers, regardless of smaller groups created in between.
  [[nodiscard]] int next_group_id() noexcept;

  /// The number of the next split that this rank takes part in, unless another participant's is larger.
  [[nodiscard]] int next_split() const noexcept;
  /// Takes part in a split and returns the number of this rank's new group, which no other group of the job has: groups
  /// of one split differ in their first member, and no rank takes part in two splits of the same number.
  /// @param split         The largest next_split() of the ranks that split a group together: they may have taken part
  /// in different splits before.
  /// @param first_member  The job's rank of the new group's rank 0; any rank if this rank joins none.
  [[nodiscard]] int take_part_in_split(int split, int first_member) noexcept;

  /// Sets the members of a group; a group that is never registered has all ranks of the job. Call before the group's
  /// first collective. Only ranks that register the same members for a number are compared with each other.
  /// @param members  Ranks of the job in the order of the group's ranks, each once.
  void register_group(int group, std::vector<int> members);
  /// Call when this rank has destroyed the group; it stops reporting on it. Ranks that wait there for a call that this
  /// rank never entered are told. Once all members have destroyed the group, it is forgotten.
  void forget_group(int group) noexcept;

  /// A call of this rank has reached the next step. Several sends and recvs may run at once, alongside a collective.
  /// @param call  Of a send or recv its root is the peer (rank in the group); its sequence counts, from 0 and without
  ///              gaps, the sends (recvs) of this rank to (from) that peer in this group.
  void note(int group, const Fingerprint& call, CallStep step) noexcept;

  /// Tells the hub about an issued call, for backends whose messages do not identify their call. If a rank of the group
  /// posts a different call with the same number, the job fails with a mismatch that names both. Returns at once.
  /// @param call  A collective, or a send or recv, numbered as for note(). Either all calls of a group are posted, or
  ///         none.
  void post(int group, const Fingerprint& call);
  /// Blocks until all participants of `call`, which this rank has posted, are known to have posted the same. Returns if
  /// rank 0 has left, because the comparison ends with it.
  /// @throws MismatchError, PeerFailedError, TimeoutError  The job has failed, or `deadline` has passed.
  void wait_until_agreed(int group, const Fingerprint& call, const Deadline& deadline) const;

  /// Fails the job on all ranks. The first failure wins. Returns at once.
  void abort(const Failure& failure) noexcept;

  /// Replaces the message that other ranks get if an exception makes this rank leave, for errors that several ranks
  /// have found together. Holds until this rank issues another call.
  void set_last_words(Failure failure) noexcept;

  /// The job's failure, if any.
  [[nodiscard]] std::shared_ptr<const Failure> failure() const noexcept;
  /// Waits until a failure is known. @return  Null if there is none by `deadline`.
  [[nodiscard]] std::shared_ptr<const Failure> wait_for_failure(const Deadline& deadline) const;

  /// Called when the job fails.
  using FailureCallback = std::function<void(const Failure&)>;
  /// Calls `on_failure` once, from any thread, when the job fails (at once if it has already). @return  For
  /// unsubscribe().
  [[nodiscard]] int subscribe(FailureCallback on_failure);
  /// Afterwards the callback is not running and will not be called. Not from within the callback.
  void unsubscribe(int subscription) noexcept;

 private:
  friend class HubHarness;   // used by the fuzzers
  friend class OutboxProbe;  // used by a test
  class Hub;
  class Member;
  struct Shared;
  const int world_size_;
  std::unique_ptr<Hub> hub_;        // at rank 0
  std::unique_ptr<Shared> shared_;  // with the member's thread
  std::unique_ptr<Member> member_;
};

}  // namespace lockstep::comm
