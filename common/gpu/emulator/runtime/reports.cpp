#include "emulator/runtime/reports.hpp"

#include <iostream>

#include "base/text.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/checker/symbolizer.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/host_memory.hpp"

namespace lockstep::emulator {
namespace {

FindingSide side_of(const ReportedCall& call) {
  FindingSide side;
  side.action = concat(call.name, call.is_write ? " (writes)" : " (reads)");
  side.place = {call.place.file == nullptr ? "" : call.place.file, call.place.line};
  side.is_in_kernel = false;
  return side;
}

}  // namespace

void report_unfinished_copy(const void* address, const HostAccess& access, const ReportedCall& copy) {
  Finding finding;
  finding.kind = copy.is_write ? FindingKind::kUnsynchronizedRead : FindingKind::kChangedTooEarly;
  FindingSide side;
  side.action = access.is_write ? "write" : "read";
  // The symbolizer takes return addresses, which follow the call instruction.
  static checker::Symbolizer& symbolizer = *new checker::Symbolizer;
  const checker::Frame& frame = symbolizer.user_frame(reinterpret_cast<std::uintptr_t>(access.pc) + 1);
  side.place = {frame.file, frame.line};
  side.is_in_kernel = false;
  finding.sides = {side_of(copy), side};
  finding.detail = concat(describe_address(address), ", which an asynchronous copy ",
                          copy.is_write ? "writes" : "reads", "; the host has not waited for it");
  report_finding(finding);
}

std::string to_text(SourcePlace place) { return place.file == nullptr ? "" : concat(place.file, ":", place.line); }

std::string describe_address(const void* address) {
  if (const Allocation* block = DeviceMemory::instance().find(address)) {
    const std::string where = to_text(block->allocated_at);
    return concat("device memory (offset ", static_cast<const std::byte*>(address) - block->begin, " of ", block->bytes,
                  " bytes", where.empty() ? "" : ", allocated at ", where, block->is_freed ? ", freed" : "", ")");
  }
  if (DeviceMemory::instance().contains(address)) return "device memory that was never allocated";
  if (const auto block = HostMemory::instance().find(address)) {
    return concat("pinned host memory (offset ", static_cast<const std::byte*>(address) - block->begin, " of ",
                  block->bytes, " bytes)");
  }
  return "host memory";
}

cudaError_t explain(cudaError_t error, const char* call, const std::string& why) {
  if (settings().is_checked) std::cerr << concat("emulated device: ", call, ": ", why, "\n");
  return error;
}

}  // namespace lockstep::emulator
