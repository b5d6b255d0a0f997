#include "emulator/runtime/order_checks.hpp"

#include <algorithm>
#include <utility>

#include "emulator/checker/stream_reports.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/reports.hpp"

namespace lockstep::emulator {
namespace {

using checker::RunningOperation;
using checker::StreamAccess;
using checker::StreamOperation;

// Limits the comparisons for a program that never waits for its copies.
constexpr std::size_t kMaxRecords = 4096;

bool conflict(const StreamAccess& a, const StreamAccess& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes && (a.is_write || b.is_write);
}

bool follows(const Clock& before, StreamId own, const StreamOperation& earlier) {
  return earlier.stream == own || before.covers(earlier.stream, earlier.sequence);
}

// Adds or removes the wait among those that did nothing.
void note_wait(StreamQueue& queue, const Operation& wait, bool is_empty) {
  std::erase_if(queue.empty_waits, [&](const EmptyWait& known) { return known.event == wait.event; });
  if (is_empty) queue.empty_waits.push_back({wait.event, wait.place});
}

// The operation as the checker sees it. @param sequence  In its stream.
StreamOperation to_stream_operation(const StreamQueue& queue, const Operation& operation, std::uint64_t sequence) {
  return {queue.device, queue.id, sequence, operation.issue, operation.name, operation.place, operation.empty_wait};
}

// Its known accesses.
std::vector<StreamAccess> stream_accesses(const StreamOperation& operation, const std::vector<Access>& accesses) {
  std::vector<StreamAccess> found;
  for (const Access& access : accesses) {
    if (access.bytes > 0) found.push_back({operation, access.begin, access.bytes, access.is_write});
  }
  return found;
}

}  // namespace

void OrderChecks::check(const StreamQueue& queue, const StreamAccess& access) const {
  for (const Record& earlier : records_) {
    if (follows(queue.clock, queue.id, earlier.access.operation) || !conflict(earlier.access, access)) continue;
    checker::report_unordered({earlier.access.operation, earlier.access.is_write}, {access.operation, access.is_write},
                              describe_address(std::max(earlier.access.begin, access.begin)));
    return;
  }
}

void OrderChecks::issued(StreamQueue& queue, Operation& operation) {
  if (!settings().is_checked) return;
  if (operation.event != nullptr) note_wait(queue, operation, operation.is_empty_wait);
  queue.clock.merge(host_);
  for (const Point& wait : operation.waits) queue.clock.merge(wait.clock);
  operation.before = queue.clock;
  if (!queue.empty_waits.empty()) operation.empty_wait = queue.empty_waits.back().place;
  const StreamOperation issued = to_stream_operation(queue, operation, queue.issued);
  for (const StreamAccess& access : stream_accesses(issued, operation.accesses)) {
    check(queue, access);
    if (records_.size() == kMaxRecords) records_.erase(records_.begin());
    records_.push_back({access, operation.before});
    HostMemory::instance().guard_until({access.begin, access.bytes, access.is_write},
                                       {queue.id, queue.issued, operation.name, operation.place});
  }
  if (operation.is_launch) pending_.push_back({queue.id, queue.issued, operation.before});
  queue.clock.raise(queue.id, queue.issued);
}

void OrderChecks::forget_ordered() {
  std::erase_if(records_, [this](const Record& record) {
    const StreamOperation& operation = record.access.operation;
    return host_.covers(operation.stream, operation.sequence) &&
           std::ranges::all_of(
               pending_, [&](const PendingLaunch& launch) { return follows(launch.before, launch.stream, operation); });
  });
}

void OrderChecks::host_waited(const Clock& clock) {
  if (!settings().is_checked) return;
  host_.merge(clock);
  forget_ordered();
  HostMemory::instance().open_covered(host_);
}

void OrderChecks::completed(StreamId stream, std::uint64_t sequence) {
  const auto ran = [&](const PendingLaunch& launch) { return launch.stream == stream && launch.sequence == sequence; };
  if (std::erase_if(pending_, ran) > 0) forget_ordered();
}

void OrderChecks::allocated(const std::byte* begin, std::size_t bytes) {
  std::erase_if(records_, [&](const Record& record) {
    return record.access.begin < begin + bytes && begin < record.access.begin + record.access.bytes;
  });
}

cudaError_t OrderChecks::run(const StreamQueue& queue, const Operation& operation, std::mutex& mutex) const {
  if (!settings().is_checked) return operation.run();
  RunningOperation running{to_stream_operation(queue, operation, queue.completed + 1), operation.before, {}};
  running.unordered_accesses = [&] {
    const std::lock_guard lock(mutex);
    return unordered_with(running);
  };
  return checker::run_operation(running, stream_accesses(running.operation, operation.accesses), operation.run);
}

std::vector<StreamAccess> OrderChecks::unordered_with(const RunningOperation& launch) const {
  const StreamOperation& own = launch.operation;
  std::vector<StreamAccess> found;
  for (const Record& record : records_) {
    const StreamOperation& other = record.access.operation;
    if (follows(launch.before, own.stream, other) || record.before.covers(own.stream, own.sequence)) continue;
    found.push_back(record.access);
  }
  return found;
}

}  // namespace lockstep::emulator
