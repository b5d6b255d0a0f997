#pragma once
/// @file
/// The part that star and ring share: a worker thread that runs blocking collectives in issue order, and messages
/// between any two ranks.
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "comm/process_group_backend.hpp"
#include "comm/transport.hpp"

namespace lockstep::comm {

struct StagingStreams;

/// A backend that works in host memory. A backend implements the blocking `run_*` calls over a Transport; this
/// class queues them on a worker thread, so that collectives overlap with the caller's computation. With an empty queue
/// Work::synchronize() runs the collective on the caller's thread, without allocating once a few calls have been made.
///
/// A message is accepted only if it belongs to the same collective as the call that waits for it (Transport::receive).
/// What run_* throws reaches the caller, and all other ranks, with the culprit's name: IoError as PeerFailedError once
/// the control plane knows who died.
///
/// A backend's destructor must call shutdown() first: afterwards no `run_*` is running or will be called.
class HostProcessGroup : public ProcessGroupBackend {
 public:
  ~HostProcessGroup() override;

  [[nodiscard]] Traffic traffic_sent() const override;

 protected:
  /// @param context  Moved to ProcessGroupBackend.
  explicit HostProcessGroup(JobContext context);

  /// Waits for issued work (or aborts it where the group has failed) and ends the worker thread. Idempotent.
  void shutdown() noexcept;

  /// Called once, by a backend's constructor: what its messages travel through, in parts of `segment_bytes`.
  void use(std::unique_ptr<Transport> transport, std::int64_t segment_bytes);

  /// @name Messages of a call
  /// @{

  /// A segment is a part of a buffer of at most segment_bytes, whole elements: small enough to stay in the processor's
  /// cache between arriving and being added, large enough that a header costs nothing beside it. An empty buffer is
  /// one empty segment, so that ranks are checked against each other there too.
  /// @return  How many segments `bytes` make; at least 1.
  [[nodiscard]] std::size_t segments_in(std::span<const std::byte> bytes) const noexcept;
  /// Segment `index` of `bytes`.
  [[nodiscard]] std::span<std::byte> segment_of(std::span<std::byte> bytes, std::size_t index) const noexcept;
  /// Room for one segment, before it is reduced.
  [[nodiscard]] std::span<std::byte> arrived(std::size_t bytes) noexcept { return std::span(arrived_).first(bytes); }

  void send(const Call& call, int peer, std::span<const std::byte> bytes);     ///< One message; see Transport::send.
  void receive(const Call& call, int peer, std::span<std::byte> bytes);        ///< One message; see Transport::receive.
  void send_segments(const Call& call, int peer, std::span<std::byte> bytes);  ///< All of `bytes`.
  void receive_segments(const Call& call, int peer, std::span<std::byte> bytes);  ///< All of `bytes`.
  /// Until what was sent may be overwritten, but for the last `most_queued` messages. Called after each run_* too.
  void flush(const Call& call, std::size_t most_queued = 0);
  /// @}

  /// Makes a running `run_*` fail soon, by interrupting the transport. From any thread.
  virtual void interrupt() noexcept;

 private:
  /// Each blocks until done; throws as the collective failed. Never two at a time. They must honour call.deadline and
  /// return soon after interrupt(). World size 1 reaches only those that have something to copy.
  virtual void run_all_reduce(const Call& call) = 0;
  virtual void run_broadcast(const Call& call) = 0;
  virtual void run_reduce(const Call& call) = 0;
  virtual void run_all_gather(const Call& call) = 0;
  virtual void run_reduce_scatter(const Call& call) = 0;
  virtual void run_barrier(const Call& call) = 0;
  /// Where no byte has a choice of ways, it goes straight from its owner to its reader.
  virtual void run_gather(const Call& call);
  virtual void run_scatter(const Call& call);
  virtual void run_all_to_all(const Call& call);

  Work do_issue(std::span<Call> calls, RunOn run_on) final;
  /// Device memory travels through pinned host memory: Work::wait() of such a call blocks the host as synchronize()
  /// does.
  [[nodiscard]] bool supports(Device) const noexcept final { return true; }
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

  /// As above for one message, where the trace has messages.
  void record_message(std::string_view verb, std::size_t bytes, std::string_view preposition, int peer,
                      std::chrono::steady_clock::time_point begin_time) const;

  struct Worker;
  struct Task;
  std::shared_ptr<StagingStreams> staging_streams_;  // made by the first call on device memory
  std::shared_ptr<Task> unused_task();
  std::shared_ptr<Worker> worker_;
  std::vector<std::shared_ptr<Task>> tasks_;  // reused once their Work is gone
  std::unique_ptr<Transport> transport_;
  std::size_t segment_bytes_ = 0;
  std::vector<std::byte> arrived_;
};

/// The bytes of host memory that a buffer names.
[[nodiscard]] inline std::span<std::byte> bytes_of(const Buffer& buffer) noexcept {
  return {static_cast<std::byte*>(buffer.data), static_cast<std::size_t>(buffer.bytes())};
}

/// Part `index` of a buffer that holds `parts` parts of equal size.
[[nodiscard]] inline std::span<std::byte> part_of(const Buffer& buffer, int index, int parts) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(buffer.bytes()) / static_cast<std::size_t>(parts);
  return bytes_of(buffer).subspan(static_cast<std::size_t>(index) * bytes, bytes);
}

/// Copies unless both are the same memory.
void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) noexcept;

}  // namespace lockstep::comm
