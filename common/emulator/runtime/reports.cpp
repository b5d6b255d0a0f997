#include "emulator/runtime/reports.hpp"

#include <iostream>

#include "base/text.hpp"
#include "emulator/runtime/device_memory.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/settings.hpp"

namespace lockstep::emulator {

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
