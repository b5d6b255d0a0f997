#pragma once
/// @file
/// Compares launches with what other streams do.
#include "emulator/checker/access_reports.hpp"
#include "emulator/checker/happens_before.hpp"
#include "emulator/checker/memory_map.hpp"
#include "emulator/checker/stream_order.hpp"

namespace lockstep::emulator::checker {

/// A launch and its surroundings: tells HappensBefore which earlier launches it does not follow, and compares the
/// memory it has used with the ranges of copies, sets, products and frees. Thread safety: none; guarded by the
/// checker's lock.
class StreamChecks {
 public:
  /// All arguments must outlive this.
  StreamChecks(HappensBefore& order, StreamOrder& streams, MemoryMap& memory, AccessReports& reports)
      : order_(order), streams_(streams), memory_(memory), reports_(reports) {}

  /// Begins the launch of the operation that this thread runs, if it runs one.
  void launch_begin();
  /// Compares the launch with the ranges of other operations.
  void launch_end();
  /// Compares an access of an operation that is about to run with the launches that have.
  void compare_with_launches(const RunningOperation& operation, const StreamAccess& access);

 private:
  void compare_launch_with(const StreamAccess& other);

  HappensBefore& order_;
  StreamOrder& streams_;
  MemoryMap& memory_;
  AccessReports& reports_;
  const RunningOperation* launch_ = nullptr;
};

}  // namespace lockstep::emulator::checker
