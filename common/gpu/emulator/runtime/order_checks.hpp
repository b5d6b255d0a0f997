#pragma once
/// @file
/// What checked mode knows about the order of copies and sets: those of the same bytes that nothing orders are
/// reported, and pinned memory stays closed to the host until it has waited for the copy.
#include <cstdint>
#include <vector>

#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Follows the happens-before relation of streams and host. Kernels take no part: what they touch is not known when
/// they are issued. Thread safety: the scheduler's lock guards it. Does nothing outside checked mode.
class OrderChecks {
 public:
  /// Takes note of an operation that is the last issued to its stream, whose clock it sets; reports accesses that
  /// conflict with earlier ones of other streams.
  void issued(StreamQueue& queue, const Operation& operation);
  /// The host has waited for all that `clock` covers.
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

  Clock host_;                     // what the host has waited for
  std::vector<Record> unordered_;  // with the host: it has not waited for them
};

}  // namespace lockstep::emulator
