#pragma once
/// @file
/// Shared by the host backends: a queue that runs collectives in issue order, and messages between any two ranks.
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/host/buffer_bytes.hpp"
#include "comm/host/call_messages.hpp"
#include "comm/process_group_backend.hpp"
#include "comm/transport.hpp"

namespace lockstep::comm {

class CallQueue;
struct StagingStreams;

/// A backend that works in host memory. It implements the blocking `run_*` calls over a Transport; this class queues
/// them on a worker thread, so that collectives overlap with the caller's computation. If the queue is empty,
/// Work::synchronize() runs the collective on the caller's thread, without allocations after the first few calls.
///
/// A message is accepted only if it belongs to the same collective as the call that waits for it (Transport::receive).
/// Exceptions of run_* reach the caller and all other ranks with the culprit's name: IoError becomes PeerFailedError if
/// the control plane knows which rank died.
///
/// A backend's destructor must call shutdown() first: afterwards no `run_*` is running or will be called.
class HostProcessGroup : public ProcessGroupBackend {
 public:
  ~HostProcessGroup() override;

  [[nodiscard]] Traffic traffic_sent() const override;

 protected:
  /// @param context  Moved to ProcessGroupBackend.
  explicit HostProcessGroup(JobContext context);

  /// Waits for issued work (or aborts it if the group has failed) and ends the worker thread. Idempotent.
  void shutdown() noexcept;

  /// Sets the transport; messages are split into parts of `segment_bytes`. Called once, by a backend's constructor.
  void use(std::unique_ptr<Transport> transport, std::int64_t segment_bytes);

  /// For use in run_*; flushed after each call. @pre  use() has been called.
  [[nodiscard]] CallMessages& messages() noexcept { return *messages_; }

  /// Interrupts the transport, so that a running `run_*` soon fails. May be called from any thread.
  virtual void interrupt() noexcept;

 private:
  /// Each blocks until done and throws if the collective fails. No two run at a time. They must honour call.deadline
  /// and return soon after interrupt(). They are not called for a group of one rank, whose output is its input.
  virtual void run_all_reduce(const Call& call) = 0;
  virtual void run_broadcast(const Call& call) = 0;
  virtual void run_reduce(const Call& call) = 0;
  virtual void run_all_gather(const Call& call) = 0;
  virtual void run_reduce_scatter(const Call& call) = 0;
  virtual void run_barrier(const Call& call) = 0;
  /// Unless overridden, every byte goes straight from its owner to its reader.
  virtual void run_gather(const Call& call);
  virtual void run_scatter(const Call& call);
  virtual void run_all_to_all(const Call& call);

  Work do_issue(std::span<Call> calls, RunOn run_on) final;
  /// Device memory travels through pinned host memory: Work::wait() of such a call blocks the host as synchronize()
  /// does.
  void require_movable(Device device) final;
  void stage(Call& call);
  void do_abort() noexcept final;

  // One issued call, or several between group_start() and group_end().
  std::exception_ptr run(std::span<const Call> calls) noexcept;
  std::exception_ptr run_one(const Call& call) noexcept;
  std::exception_ptr run_messages(std::span<const Call> calls) noexcept;
  void dispatch(const Call& call);
  void run_coalesced(const Call& call);
  /// Adds the span of a call that has just run to the trace, if there is one.
  void record(const Call& call, std::chrono::steady_clock::time_point begin_time) const;

  std::shared_ptr<StagingStreams> staging_streams_;  // made by the first call on device memory
  std::unique_ptr<CallMessages> messages_;           // null if use() is never called: world size 1
  std::unique_ptr<CallQueue> queue_;                 // null after shutdown()
};

}  // namespace lockstep::comm
