#pragma once
/// @file
/// Checked mode for streams: unordered operations on the same bytes are reported, and pinned memory stays closed to the
/// host until it has waited for the copy.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "emulator/checker/stream_operation.hpp"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Tracks the happens-before relation of streams and host. Copies, sets and products are compared with one another when
/// they are issued; what a launch touches is known once it has run, and the checker compares it then.
///
/// Thread safety: guarded by the scheduler's lock. Does nothing outside checked mode.
class OrderChecks {
 public:
  /// Records the operation just issued to a stream, and sets its clock and the stream's; reports accesses that conflict
  /// with earlier ones of other streams.
  void issued(StreamQueue& queue, Operation& operation);
  /// Records that the host has waited for everything covered by `clock`.
  void host_waited(const Clock& clock);
  /// Records that the operation has run.
  void completed(StreamId stream, std::uint64_t sequence);

  /// Forgets accesses to memory that has been allocated anew.
  void allocated(const std::byte* begin, std::size_t bytes);

  /// Runs the first operation of a queue, watched by the checker. Called without the scheduler's lock. The checker
  /// takes it while it holds its own: nothing may wait for the checker's lock with this one held.
  cudaError_t run(const StreamQueue& queue, const Operation& operation, std::mutex& mutex) const;

 private:
  struct Record {
    checker::StreamAccess access;
    Clock before;
  };
  struct PendingLaunch {
    StreamId stream = 0;
    std::uint64_t sequence = 0;
    Clock before;
  };
  [[nodiscard]] std::vector<checker::StreamAccess> unordered_with(const checker::RunningOperation& launch) const;
  void check(const StreamQueue& queue, const checker::StreamAccess& access) const;
  void forget_ordered();

  Clock host_;                          // operations that the host has waited for
  std::vector<Record> records_;         // accesses that the host, or a pending launch, does not follow
  std::vector<PendingLaunch> pending_;  // launches
};

}  // namespace lockstep::emulator
