#pragma once
/// @file
/// Checked mode for copies and sets: unordered ones on the same bytes are reported, and pinned memory stays closed to
/// the host until it has waited for the copy.
#include <cstdint>
#include <vector>

#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Tracks the happens-before relation of streams and host. Kernels are not included: the memory that they touch is
/// unknown when they are issued. Thread safety: guarded by the scheduler's lock. Does nothing outside checked mode.
class OrderChecks {
 public:
  /// Records the operation just issued to a stream, and sets the stream's clock; reports accesses that conflict with
  /// earlier ones of other streams.
  void issued(StreamQueue& queue, const Operation& operation);
  /// Records that the host has waited for everything covered by `clock`.
  void host_waited(const Clock& clock);

 private:
  struct Record {
    Access access;
    StreamId stream = 0;
    std::uint64_t sequence = 0;
    const char* name = "";
    SourcePlace place;
  };
  void check(const StreamQueue& queue, const Operation& operation, const Access& access) const;

  Clock host_;                     // operations that the host has waited for
  std::vector<Record> unordered_;  // accesses that the host has not waited for
};

}  // namespace lockstep::emulator
