#include "emulator/runtime/order_checks.hpp"

#include <algorithm>

#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/reports.hpp"

namespace lockstep::emulator {
namespace {

// Limits the comparisons for a program that never waits for its copies.
constexpr std::size_t kMaxRecords = 4096;

bool overlap(const Access& a, const Access& b) { return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes; }

}  // namespace

void OrderChecks::check(const StreamQueue& queue, const Operation& operation, const Access& access) const {
  for (const Record& earlier : unordered_) {
    if (earlier.stream == queue.id || queue.clock.covers(earlier.stream, earlier.sequence)) continue;
    if (!overlap(earlier.access, access) || !(earlier.access.is_write || access.is_write)) continue;
    const std::byte* shared = std::max(earlier.access.begin, access.begin);
    report_unordered({operation.name, operation.place, access.is_write},
                     {earlier.name, earlier.place, earlier.access.is_write}, shared);
    return;
  }
}

void OrderChecks::issued(StreamQueue& queue, const Operation& operation) {
  if (!settings().is_checked) return;
  queue.clock.merge(host_);
  for (const Point& wait : operation.waits) queue.clock.merge(wait.clock);
  for (const Access& access : operation.accesses) {
    if (access.bytes == 0) continue;
    check(queue, operation, access);
    if (unordered_.size() == kMaxRecords) unordered_.erase(unordered_.begin());
    unordered_.push_back({access, queue.id, queue.issued, operation.name, operation.place});
    if (access.is_write) HostMemory::instance().close_until(access.begin, access.bytes, queue.id, queue.issued);
  }
  queue.clock.raise(queue.id, queue.issued);
}

void OrderChecks::host_waited(const Clock& clock) {
  if (!settings().is_checked) return;
  host_.merge(clock);
  const auto is_done = [this](const Record& record) { return host_.covers(record.stream, record.sequence); };
  unordered_.erase(std::remove_if(unordered_.begin(), unordered_.end(), is_done), unordered_.end());
  HostMemory::instance().open_covered(host_);
}

}  // namespace lockstep::emulator
