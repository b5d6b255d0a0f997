#pragma once
/// @file
/// What every backend promises: a fixed set of ranks that call the same collectives in the same order. Star, ring,
/// NCCL, Gloo and MPI differ only below this line.
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"
#include "comm/fingerprint.hpp"
#include "comm/job_context.hpp"
#include "comm/work.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::trace {
class Recorder;
}

namespace lockstep::comm {

/// Options of one collective; `{}` is right for host memory.
struct CollectiveOptions {
  Stream* stream = nullptr;          ///< The stream that produced the data (device memory); null for the CPU.
  std::optional<Deadline> deadline;  ///< For the whole call; unset: the group's progress limit.
};

/// One rank's membership in a group.
///
/// The public calls are the same for every backend: they validate, number, record and fingerprint the call, then hand
/// it to the private virtual `do_*` of the backend. Lifetime: the group owns its connections and its worker thread;
/// destroying it waits for issued work or, where a peer has failed, aborts. Thread safety: collectives come from one
/// thread, in the same order on all ranks; abort() from any thread.
class ProcessGroup {
 public:
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  virtual ~ProcessGroup();

  [[nodiscard]] int rank() const noexcept { return context_.rank; }              ///< In [0, world_size()).
  [[nodiscard]] int world_size() const noexcept { return context_.world_size; }  ///< At least 1; never changes.
  /// The job that the group was made in.
  [[nodiscard]] const JobContext& context() const noexcept { return context_; }

  /// "star", "ring": the backend as a user names it.
  [[nodiscard]] virtual std::string_view backend() const noexcept = 0;

  /// Replaces `values` on every rank by the element-wise reduction over all ranks.
  ///
  /// @param values   [count], in place; may be empty. Same count and dtype on all ranks.
  /// @param op       kMean is a sum, then one scale. For a given algorithm the order of additions is fixed.
  /// @param options  Stream that produced `values`, deadline for the whole call.
  /// @param where    The calling line, for the flight recorder.
  /// @return         Keeps `values.keep_alive` until done.
  /// @throws ContractError  Now: a device or dtype the backend cannot move.
  /// @throws Error          Now: the group has failed earlier (the same error again).
  /// @throws TimeoutError   From synchronize(): names this rank, the ranks that have not arrived, and the wait.
  /// @throws MismatchError  From synchronize(): ranks disagree on operation, dtype or count.
  /// @post   Bit-identical on all ranks (star, ring; for NCCL measured, not promised).
  /// @cost   Ring: 2(P-1) steps; 2(P-1)/P * count * bytes_of(dtype) sent per rank.
  /// @source Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
  Work all_reduce(Buffer values, ReduceOp op = ReduceOp::kSum, const CollectiveOptions& options = {},
                  std::source_location where = std::source_location::current());

  /// Replaces `values` on every rank by those of `root`.
  ///
  /// @param values  [count], in place; may be empty. Same count and dtype on all ranks.
  /// @param root    In [0, world_size()), the same on all ranks.
  /// @throws ContractError  Now: root out of range.
  /// @throws TimeoutError, MismatchError  From synchronize(), as all_reduce.
  Work broadcast(Buffer values, int root, const CollectiveOptions& options = {},
                 std::source_location where = std::source_location::current());

  /// Completes on no rank before every rank has entered it.
  Work barrier(const CollectiveOptions& options = {}, std::source_location where = std::source_location::current());

  /// Memory that this group reduces without extra copies where the backend can (shared memory on one host);
  /// ordinary memory elsewhere.
  [[nodiscard]] virtual std::shared_ptr<Storage> allocate(std::size_t bytes, Device device = {});

  /// Fails the group on every rank: pending and later calls throw PeerFailedError naming this rank and `reason`.
  /// May be called from any thread; returns at once.
  void abort(const std::string& reason);

  /// From now on collectives appear as spans in the lane "communication" of `recorder`; null ends that.
  /// @pre  No collective is in flight.
  void record_to(std::shared_ptr<trace::Recorder> recorder) noexcept { recorder_ = std::move(recorder); }

  /// Bytes of collective payload and of headers that this rank has sent so far.
  struct Traffic {
    std::uint64_t payload_bytes = 0;  ///< Elements of collectives.
    std::uint64_t header_bytes = 0;   ///< What frames add to them.
    std::uint64_t messages = 0;       ///< Frames.
  };
  /// Counted since the group was made.
  [[nodiscard]] virtual Traffic traffic_sent() const = 0;

 protected:
  /// One issued collective as the backend sees it.
  struct Call {
    std::uint64_t sequence = 0;                    ///< 0, 1, 2, ... in call order; equal on all ranks.
    Collective collective = Collective::kBarrier;  ///< Which operation.
    Buffer values;                                 ///< Empty for a barrier.
    ReduceOp op = ReduceOp::kSum;                  ///< For reductions.
    int root = 0;                                  ///< For a broadcast.
    Stream* stream = nullptr;                      ///< Null for host memory.
    Deadline deadline = Deadline::never();         ///< For the whole call.
    std::uint64_t record = 0;                      ///< Its entry in the flight recorder.

    /// What ranks compare.
    [[nodiscard]] Fingerprint fingerprint() const noexcept;
  };

  /// @param context  Rank, size, control plane and limits; world size 1 has neither store nor control plane.
  explicit ProcessGroup(JobContext context);

  /// Number of this group among those of the job, equal on all ranks: part of its store keys and handshakes.
  [[nodiscard]] int group_id() const noexcept { return group_id_; }

  /// Where collectives are recorded, or null.
  [[nodiscard]] trace::Recorder* recorder() const noexcept { return recorder_.get(); }

  /// Called by a backend when a call begins to run, from whichever thread runs it.
  void begin(const Call& call) noexcept;
  /// Called by a backend when a call has ended, from the same thread. Tells the other ranks of an error.
  /// @return  The error as this rank's caller shall see it: one that names the culprit, as the control plane knows it.
  std::exception_ptr finish(const Call& call, std::exception_ptr error) noexcept;

  /// The error that the group has failed with, or null.
  [[nodiscard]] std::exception_ptr failure() const noexcept;

  /// After this no do_abort() runs or will be called. A backend's destructor calls it first.
  void detach() noexcept;

  /// The header of this rank's frames for `call`, with its fingerprint.
  [[nodiscard]] net::FrameHeader frame_header(const Call& call) const noexcept;
  /// Which frames this rank accepts for `call`: payloads up to the size of its values.
  [[nodiscard]] net::FrameLimits frame_limits(const Call& call) const noexcept;
  /// @throws MismatchError  `received`, a frame from rank `peer`, belongs to another collective than `call`; says what
  ///                        each of the two ranks was doing.
  void check_same_collective(const Call& call, const net::FrameHeader& received, int peer) const;

 private:
  virtual Work do_all_reduce(const Call& call) = 0;
  virtual Work do_broadcast(const Call& call) = 0;
  virtual Work do_barrier(const Call& call) = 0;

  /// Whether the backend moves memory of `device`: host memory unless overridden.
  [[nodiscard]] virtual bool supports(Device device) const noexcept { return device.is_cpu(); }

  /// Wakes whatever the backend's threads wait in and makes it fail; called once, from any thread.
  virtual void do_abort() noexcept = 0;

  /// Validates, numbers and records a call.
  Call issue(Call call, const CollectiveOptions& options, const std::source_location& where);
  void fail(std::exception_ptr error) noexcept;
  [[nodiscard]] std::exception_ptr explain(const Call& call, const std::exception_ptr& error) const;

  struct State;  // what other threads touch
  JobContext context_;
  int group_id_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::shared_ptr<trace::Recorder> recorder_;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::comm
