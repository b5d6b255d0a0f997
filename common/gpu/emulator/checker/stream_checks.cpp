#include "emulator/checker/stream_checks.hpp"

#include <algorithm>
#include <vector>

#include "emulator/checker/checker.hpp"

namespace lockstep::emulator::checker {
namespace {

thread_local const RunningOperation* running_operation = nullptr;

// Of the bytes, those in the target's shadow.
std::size_t bytes_in(const Target& target, const StreamAccess& access) {
  return std::min(access.bytes, target.shadow->bytes() - target.offset);
}

}  // namespace

cudaError_t run_operation(const RunningOperation& operation, const std::vector<StreamAccess>& accesses,
                          const std::function<cudaError_t()>& run) {
  for (const StreamAccess& access : accesses) {
    Checker::instance().with_streams([&](StreamChecks& checks) { checks.compare_with_launches(operation, access); });
  }
  running_operation = &operation;
  const cudaError_t result = run();
  running_operation = nullptr;
  return result;
}

void StreamChecks::launch_begin() {
  launch_ = running_operation;
  order_.launch_begin(launch_ != nullptr ? streams_.unordered_with(*launch_) : std::vector<LaunchSpan>());
  if (launch_ != nullptr) streams_.launch_begin(launch_->operation, order_.launch().first);
}

void StreamChecks::launch_end() {
  if (launch_ == nullptr) return;
  for (const StreamAccess& other : launch_->unordered_accesses()) compare_launch_with(other);
  streams_.launch_end(order_.interval());
}

void StreamChecks::compare_with_launches(const RunningOperation& operation, const StreamAccess& access) {
  const std::vector<LaunchSpan> unordered = streams_.unordered_with(operation);
  if (unordered.empty()) return;
  const Target target = memory_.find_for_host(access.begin);
  if (target.shadow == nullptr) return;
  target.shadow->for_each_used_cell(target.offset, bytes_in(target, access), [&](const Cell& cell, std::size_t offset) {
    for (const Access* const before : {&cell.write, &cell.read, &cell.other}) {
      const auto contains = [&](const LaunchSpan& span) { return span.contains(before->interval); };
      if (!(access.is_write || before->is(kWrite)) || std::ranges::none_of(unordered, contains)) continue;
      const StreamOperation& launch = *streams_.launch_of(before->interval);
      reports_.unordered_with(access, launch, target.shadow->begin() + offset, *before);
      return false;  // one place is enough
    }
    return true;
  });
}

// Goes on after a finding: reads of memory that the other has yet to write are explained by it.
void StreamChecks::compare_launch_with(const StreamAccess& other) {
  const Target target = memory_.find_for_host(other.begin);
  const bool is_seen_by_both = target.space == Space::kGlobal || other.operation.device == launch_->operation.device;
  if (target.shadow == nullptr || !is_seen_by_both) return;
  Site known = 0;
  target.shadow->for_each_used_cell(target.offset, bytes_in(target, other), [&](const Cell& cell, std::size_t offset) {
    for (const Access* const access : {&cell.write, &cell.read, &cell.other}) {
      const bool is_of_launch = access->interval >= order_.launch().first;
      if (!is_of_launch || !(other.is_write || access->is(kWrite)) || access->site() == known) continue;
      known = access->site();
      reports_.unordered_with(other, launch_->operation, target.shadow->begin() + offset, *access);
    }
    return true;
  });
}

}  // namespace lockstep::emulator::checker
