#include "emulator/checker/shadow.hpp"

#include <algorithm>
#include <cstdint>

#include "emulator/checker/checker.hpp"
#include "emulator/engine/device_memory.hpp"

namespace lockstep::emulator {
namespace {

using checker::Checker;
using checker::MemoryMap;
using checker::Target;

/// Calls `use(target, bytes)` with the shadow of the host's target, and how many of `bytes` it covers.
template <typename Use>
void with_shadow(const void* address, std::size_t bytes, const Use& use) {
  if (!checker::jobs().rules || bytes == 0) return;
  Checker::instance().with_memory([&](MemoryMap& memory) {
    const Target target = memory.find_for_host(address);
    if (target.shadow != nullptr) use(target, std::min(bytes, target.shadow->bytes() - target.offset));
  });
}

}  // namespace

void host_wrote(const void* device_address, std::size_t bytes) {
  with_shadow(device_address, bytes,
              [](const Target& target, std::size_t count) { target.shadow->set_written(target.offset, count); });
}

void host_read(const void*, std::size_t) {}

void forget(const void* begin, std::size_t bytes) {
  with_shadow(begin, bytes,
              [](const Target& target, std::size_t count) { target.shadow->set_unwritten(target.offset, count); });
}

void allow_host_memory(const void* begin, std::size_t bytes) {
  Checker::instance().with_memory([&](MemoryMap& memory) { memory.allow_host(begin, bytes); });
}

void disallow_host_memory(const void* begin) {
  Checker::instance().with_memory([&](MemoryMap& memory) { memory.disallow_host(begin); });
}

void report_host_access(const void* address, const void* pc) {
  Finding finding;
  FindingSide side{"access", {}, false, {}, {}};
  // A separate symbolizer: a kernel may be running on another thread. Looks up the instruction itself, not a call
  // before it.
  if (pc != nullptr) {
    const checker::Frame frame = checker::Symbolizer().user_frame(reinterpret_cast<std::uintptr_t>(pc) + 1);
    side.place = {frame.file, frame.line};
  }
  const ThreadState* const thread = Checker::running != nullptr ? current_thread() : nullptr;
  if (thread != nullptr) {
    finding.kernel = Checker::running->kernel_name();
    side.is_in_kernel = true;
    side.thread = thread->thread_idx;
    side.block = current_block()->block_idx;
  }
  const bool is_null = reinterpret_cast<std::uintptr_t>(address) < checker::Sites::kFirstAddress;
  const bool is_device = DeviceMemory::instance().contains(address);
  finding.kind = is_null                          ? FindingKind::kNullPointer
                 : is_device && thread == nullptr ? FindingKind::kHostAccess
                                                  : FindingKind::kOutOfBounds;
  finding.detail = is_null     ? "the address is null"
                   : is_device ? checker::describe_global(address)
                               : "nothing lies at the address";
  finding.sides.push_back(side);
  report_finding(finding);
}

}  // namespace lockstep::emulator
