#pragma once
/// @file
/// Checked mode for streams: unordered operations on the same bytes are reported, and pinned memory stays closed to the
/// host until it has waited for the copy.
#include <cstdint>
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

  /// The recorded accesses of operations that the launch neither follows nor precedes.
  [[nodiscard]] std::vector<checker::StreamAccess> unordered_with(const checker::RunningOperation& launch) const;

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
  void check(const StreamQueue& queue, const checker::StreamAccess& access) const;
  void forget_ordered();

  Clock host_;                          // operations that the host has waited for
  std::vector<Record> records_;         // accesses that the host, or a pending launch, does not follow
  std::vector<PendingLaunch> pending_;  // launches
};

/// The operation as the checker sees it. @param sequence  In its stream.
checker::StreamOperation to_stream_operation(const StreamQueue& queue, const Operation& operation,
                                             std::uint64_t sequence);
/// Its known accesses.
std::vector<checker::StreamAccess> stream_accesses(const checker::StreamOperation& operation,
                                                   const std::vector<Access>& accesses);

}  // namespace lockstep::emulator
