#pragma once
/// @file
/// Reports on operations of two streams that use the same memory, and that nothing orders.
#include <string>

#include "emulator/checker/findings.hpp"
#include "emulator/checker/stream_operation.hpp"

namespace lockstep::emulator::checker {

/// How one operation uses the memory.
struct StreamUse {
  StreamOperation operation;
  bool is_write = false;
  FindingPlace line{};  ///< Of a kernel: the line that accesses the memory.
};

/// Reports two unordered uses. If the stream of the later one had waited for an event that was not recorded, that is
/// the finding. @param memory  Describes the first byte of both. @return  Its index in the log. Thread safety: any
/// thread.
std::size_t report_unordered(const StreamUse& one, const StreamUse& other, const std::string& memory);

}  // namespace lockstep::emulator::checker
