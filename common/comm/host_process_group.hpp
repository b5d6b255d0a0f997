#pragma once
/// @file
/// The part that star and ring share: a worker thread that runs blocking collectives in issue order.
#include <chrono>
#include <memory>

#include "comm/process_group.hpp"

namespace lockstep::comm {

/// A ProcessGroup for host memory. A backend implements the blocking `run_*` calls; this class queues them on a worker
/// thread, so that collectives overlap with the caller's computation. With an empty queue Work::synchronize() runs
/// the collective on the caller's thread.
///
/// A backend checks that its peers are in the same collective by the frames they send: frame_header(call) for its own,
/// check_same_collective(call, header, peer) for theirs. What run_* throws reaches the caller, and all other ranks,
/// with the culprit's name: IoError as PeerFailedError once the control plane knows who died.
///
/// A backend's destructor must call shutdown() first: afterwards no `run_*` is running or will be called.
class HostProcessGroup : public ProcessGroup {
 public:
  ~HostProcessGroup() override;

 protected:
  /// @param context  Moved to ProcessGroup.
  explicit HostProcessGroup(JobContext context);

  /// Waits for issued work (or aborts it where the group has failed) and ends the worker thread. Idempotent.
  void shutdown() noexcept;

 private:
  /// Each blocks until done; throws as the collective failed. Never two at a time. They must honour call.deadline and
  /// return soon after interrupt().
  virtual void run_all_reduce(const Call& call) = 0;
  virtual void run_broadcast(const Call& call) = 0;
  virtual void run_barrier(const Call& call) = 0;

  /// Makes a running `run_*` fail soon, for example by shutting its sockets down. From any thread.
  virtual void interrupt() noexcept = 0;

  /// Adds the span of a call that has just run to the trace, if there is one.
  void record(const Call& call, std::chrono::steady_clock::time_point begin_time) const;

  Work do_all_reduce(const Call& call) final;
  Work do_broadcast(const Call& call) final;
  Work do_barrier(const Call& call) final;
  void do_abort() noexcept final;

  Work enqueue(const Call& call);
  [[nodiscard]] std::exception_ptr run(const Call& call) noexcept;

  struct Worker;
  std::shared_ptr<Worker> worker_;
};

}  // namespace lockstep::comm
