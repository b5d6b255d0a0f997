#pragma once
/// @file
/// What every backend promises: a fixed set of ranks that call the same collectives in the same order. Star, ring,
/// NCCL, Gloo and MPI differ only below this interface; their base class is in comm/process_group_backend.hpp.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"
#include "comm/fingerprint.hpp"
#include "comm/job_context.hpp"
#include "comm/transport.hpp"
#include "comm/work.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::trace {
class Recorder;
}

namespace lockstep::comm {

/// The thread that runs a collective on the CPU.
enum class RunOn {
  kWorker,  ///< The group's worker thread, at once: the caller computes meanwhile.
  kCaller,  ///< The caller, in Work::synchronize(), or the next call of the group: saves waking a thread for a small
            ///< collective that is waited for at once.
};

/// Options of one collective; `{}` is right for host memory.
struct CollectiveOptions {
  Stream* stream = nullptr;            ///< The stream that produced the data (device memory); null: the current one.
  std::optional<Deadline> deadline{};  ///< For the whole call, the time in the group's queue included, however much
                                       ///< data still moves; unset: the progress limit (JobLimits), from this call on.
  RunOn run_on = RunOn::kWorker;       ///< Only for the CPU; devices have streams.
  std::string_view tag{};  ///< Label of the call, "unit h.3": ranks compare it, so that calls of the same type and size
                           ///< cannot be mixed up, and messages show it (CallTag).
};

/// One rank's membership in a group.
///
/// The calls are the same for every backend. Lifetime: the group owns its connections and its worker thread; destroying
/// it waits for issued work or, if a peer has failed, aborts. Thread safety: collectives come from one thread, in the
/// same order on all ranks; abort() from any thread.
///
/// Common to all calls: a buffer may be empty; count and dtype are the same on all ranks; memory belongs to the
/// backend's device. The returned Work keeps `keep_alive` of the buffers until done. Thrown at once: ContractError (an
/// invalid device, dtype, root, count or tag) and, if the group has failed before, that error again. Thrown by
/// Work::synchronize(): TimeoutError (names this rank, the missing ranks, and the wait), MismatchError (ranks issued
/// different calls; says what each was doing), PeerFailedError (names the rank that died or left). Results are
/// bit-identical on all ranks and in every run (star, ring; for NCCL measured, not promised). `where` is the calling
/// line, for the flight recorder. P is the world size.
class ProcessGroup {
 public:
  /// One issued collective, as the backend sees it: in comm/process_group_backend.hpp.
  struct Call;

  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup() = default;

  [[nodiscard]] int rank() const noexcept { return context_.rank; }              ///< In [0, world_size()).
  [[nodiscard]] int world_size() const noexcept { return context_.world_size; }  ///< At least 1; never changes.
  [[nodiscard]] const JobContext& context() const noexcept { return context_; }

  /// The backend's name for users: "star", "ring".
  [[nodiscard]] virtual std::string_view backend() const noexcept = 0;

  /// Replaces `values` on every rank by the element-wise reduction over all ranks.
  /// @param values  [count], in place.
  /// @param op      kMean is a sum, then one scale. For a given algorithm the order of additions is fixed.
  /// @cost   Ring: 2(P-1) steps; 2(P-1)/P * count * bytes_of(dtype) sent per rank.
  /// @source Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
  Work all_reduce(Buffer values, ReduceOp op = ReduceOp::kSum, const CollectiveOptions& options = {},
                  std::source_location where = std::source_location::current());

  /// all_reduce of several buffers of one dtype as if they were one: many small buffers cost one message, not one each.
  /// @param buffers  Each [count_i], in place; the same counts in the same order on all ranks.
  /// @cost   The all_reduce and two copies of the elements.
  Work all_reduce_coalesced(std::span<const Buffer> buffers, ReduceOp op = ReduceOp::kSum,
                            const CollectiveOptions& options = {},
                            std::source_location where = std::source_location::current());

  /// Replaces `values` on every rank by those of `root`.
  /// @param values  [count], in place.
  /// @param root    In [0, P), the same on all ranks, here and below.
  Work broadcast(Buffer values, int root, const CollectiveOptions& options = {},
                 std::source_location where = std::source_location::current());

  /// Replaces `values` on `root` by the reduction over all ranks; unchanged on the others.
  /// @param values  [count], in place.
  Work reduce(Buffer values, int root, ReduceOp op = ReduceOp::kSum, const CollectiveOptions& options = {},
              std::source_location where = std::source_location::current());

  /// Every rank gets the inputs of all: output[r * count ...] is rank r's input.
  /// @param output  [P * count]. @param input  [count]; may be this rank's part of `output`; must not overlap it
  ///         otherwise.
  /// @cost   (P-1) * count elements sent per rank.
  Work all_gather(Buffer output, Buffer input, const CollectiveOptions& options = {},
                  std::source_location where = std::source_location::current());

  /// Rank r gets part r of the reduction over all ranks: half an all_reduce.
  /// @param output  [count]. @param input  [P * count], unchanged; `output` may be this rank's part of it.
  Work reduce_scatter(Buffer output, Buffer input, ReduceOp op = ReduceOp::kSum, const CollectiveOptions& options = {},
                      std::source_location where = std::source_location::current());

  /// `root` gets the inputs of all ranks.
  /// @param output  [P * count] on root; ignored elsewhere. @param input  [count]; as all_gather's.
  Work gather(Buffer output, Buffer input, int root, const CollectiveOptions& options = {},
              std::source_location where = std::source_location::current());

  /// Rank r gets part r of root's input.
  /// @param output  [count]. @param input  [P * count] on root; ignored elsewhere.
  Work scatter(Buffer output, Buffer input, int root, const CollectiveOptions& options = {},
               std::source_location where = std::source_location::current());

  /// Part s of rank r's input becomes part r of rank s's output: a transpose over ranks.
  /// @param output  [count], P divides count. @param input  [count], must not overlap `output`.
  Work all_to_all(Buffer output, Buffer input, const CollectiveOptions& options = {},
                  std::source_location where = std::source_location::current());

  /// Sends to one rank, which calls recv() with the same count and dtype. Pairs match in call order. Completion means
  /// that `values` may be overwritten, not that they have arrived. The calls of a group run one after another: ranks
  /// that all send first and then receive may wait for each other, also if they wait for no Work in between. Put the
  /// calls of an exchange between group_start() and group_end().
  /// @param values  [count]. @param peer  Not this rank.
  Work send(Buffer values, int peer, const CollectiveOptions& options = {},
            std::source_location where = std::source_location::current());

  /// Receives the values that `peer` sends to this rank. @param values  [count], overwritten.
  Work recv(Buffer values, int peer, const CollectiveOptions& options = {},
            std::source_location where = std::source_location::current());

  /// Completes on no rank before every rank has entered it.
  Work barrier(const CollectiveOptions& options = {}, std::source_location where = std::source_location::current());

  /// A blocking barrier whose error lists every rank that has not arrived within `timeout`.
  /// @throws TimeoutError, PeerFailedError, MismatchError
  void monitored_barrier(std::chrono::milliseconds timeout,
                         std::source_location where = std::source_location::current());

  /// Calls between start and end are issued together, as one Work: sends and recvs among them move at the same time, so
  /// that ranks may exchange in any order. None of them begins before group_end(), so blocking calls are rejected until
  /// then: split(), allocate() and the like before they do anything, and waiting for a Work of the group, which drops
  /// the group, because its memory may be gone when the exception is handled.
  /// @throws ContractError  A group of calls is open already.
  void group_start(std::source_location where = std::source_location::current()) { open_group(where); }
  /// @return  The Work of the whole group; afterwards the Works of its calls may be waited for too.
  /// @throws ContractError  Without group_start(), or if a call of the group has been waited for.
  virtual Work group_end() = 0;

  /// For functions that wait for one call before they issue the next.
  /// @throws ContractError  A group of calls is open: names `call` and where the group begins.
  virtual void require_no_open_group(std::string_view call) const = 0;

  /// A new group of those ranks that pass the same `color`, ordered by (key, rank); all ranks call it.
  /// @param color  At least 0; or kNoColor: this rank joins none.
  /// @return  The group, of the same backend; null for kNoColor.
  [[nodiscard]] std::unique_ptr<ProcessGroup> split(int color, int key = 0);
  static constexpr int kNoColor = -1;  ///< For ranks that join no group.

  /// Memory that this group reduces without extra copies if the backend can (shared memory on one host); otherwise
  /// ordinary memory.
  [[nodiscard]] virtual std::shared_ptr<Storage> allocate(std::size_t bytes, Device device = {});

  /// Blocks the host until all ranks are known to have issued the same collectives so far. Call before results are used
  /// irrevocably: the optimizer step waits for it, so that no parameter is updated from ranks that disagree. Returns at
  /// once if every message identifies its collective (star, ring).
  /// @throws MismatchError, PeerFailedError, TimeoutError  They have not; names the ranks and their calls.
  virtual void require_agreement() = 0;

  /// Fails the group on every rank: pending and later calls throw PeerFailedError naming this rank and `reason`.
  /// May be called from any thread; returns at once.
  virtual void abort(const std::string& reason) = 0;

  /// Call on all ranks before each of them throws an error that all have found. Waits until all know of it: a rank that
  /// left at once would end the exchange in which others still learn of it. If the ranks then leave because of that
  /// error, the launcher's summary shows `message` and blames `culprit` instead of the first rank to leave.
  ///
  /// @param message  The error's message, the same on all ranks.
  /// @param culprit  The rank of this group that is at fault, or -1 if no single rank is.
  /// @cost  One barrier.
  void prepare_common_error(const std::string& message, int culprit = -1,
                            std::source_location where = std::source_location::current()) noexcept;

  /// From now on collectives appear as spans in the lane "communication" of `recorder`; null stops this.
  /// @return  The previous recorder, or null. @pre  No collective is in flight.
  virtual std::shared_ptr<trace::Recorder> record_to(std::shared_ptr<trace::Recorder> recorder) noexcept = 0;

  /// Traffic sent by this rank since the group was made.
  [[nodiscard]] virtual Traffic traffic_sent() const = 0;

 protected:
  /// @param context  Rank, size, control plane and limits; world size 1 has neither store nor control plane.
  explicit ProcessGroup(JobContext context) : context_(std::move(context)) {}

 private:
  /// Validates, numbers, records and issues a call (or keeps it for group_end()).
  virtual Work issue(Call call, const CollectiveOptions& options, const std::source_location& where) = 0;
  virtual void open_group(const std::source_location& where) = 0;
  /// A group of the same backend and options for some of the ranks.
  [[nodiscard]] virtual std::unique_ptr<ProcessGroup> do_split(JobContext context) = 0;

  JobContext context_;
};

}  // namespace lockstep::comm
