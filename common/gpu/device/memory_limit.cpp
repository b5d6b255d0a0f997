#include "device/memory_limit.hpp"

#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>

#include "device/caching_allocator.hpp"
#include "device/device_allocator.hpp"

namespace lockstep {

namespace {

thread_local const AllocationPurpose* innermost_purpose = nullptr;

struct Listener {
  std::mutex mutex;
  std::function<void(const std::string&)> call;

  static Listener& instance() {
    static Listener listener;
    return listener;
  }
};

}  // namespace

void on_refused_allocation(std::function<void(const std::string& message)> listener) {
  const std::lock_guard lock(Listener::instance().mutex);
  Listener::instance().call = std::move(listener);
}

AllocationPurpose::AllocationPurpose(std::string_view what, std::string_view whose, MemoryNeed need) noexcept
    : what_(what), whose_(whose), need_(need), outer_(std::exchange(innermost_purpose, this)) {}

AllocationPurpose::~AllocationPurpose() { innermost_purpose = outer_; }

std::string AllocationPurpose::current() {
  std::string text;
  for (const AllocationPurpose* purpose = innermost_purpose; purpose != nullptr; purpose = purpose->outer_) {
    if (!text.empty()) text += ", for ";
    text.append(purpose->what_).append(purpose->whose_);
  }
  return text;
}

MemoryNeed AllocationPurpose::current_need() noexcept {
  for (const AllocationPurpose* purpose = innermost_purpose; purpose != nullptr; purpose = purpose->outer_)
    if (purpose->need_ == MemoryNeed::kOfModel) return MemoryNeed::kOfModel;
  return MemoryNeed::kOfBatch;
}

std::string out_of_memory_message(Device device, std::string_view who, std::size_t asked, std::string_view in_use) {
  const std::string purpose = AllocationPurpose::current();
  const char* const advice =
      AllocationPurpose::current_need() == MemoryNeed::kOfModel
          ? "; the model itself needs this, whatever the batch: divide it among more ranks (train_gpt_sharded "
            "--zero 3, or train_gpt_3d with --tensor and --pipeline), or take a smaller --model"
          : "; try a smaller --batch-size, more --accumulation-steps or --activation-checkpointing";
  return concat("out of memory on ", device.name(), who.empty() ? "" : " (", who, who.empty() ? "" : ")", ": ", asked,
                " bytes were asked for", purpose.empty() ? "" : " (", purpose, purpose.empty() ? "" : ")", ", ", in_use,
                advice);
}

void MemoryLimit::require_possible(std::size_t asked, std::size_t in_use, Device device) const {
  if (asked <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return;
  throw OutOfMemoryError(out_of_memory_message(device, who, asked, concat(in_use, " are in use")));
}

void MemoryLimit::require_room(std::size_t asked, std::size_t taken, std::size_t in_use, Device device) const {
  if (bytes == 0 || in_use + taken <= bytes) return;
  const std::string message =
      out_of_memory_message(device, who, asked, concat(in_use, " are in use, and the memory limit allows ", bytes));
  {
    const std::lock_guard lock(Listener::instance().mutex);
    if (Listener::instance().call) Listener::instance().call(message);
  }
  throw OutOfMemoryError(message);
}

void set_memory_limit(Device device, std::size_t bytes, std::string who) {
  MemoryLimit limit{.bytes = bytes, .who = std::move(who)};
  device.is_cpu() ? CachingAllocator::of_host()->set_limit(std::move(limit))
                  : DeviceAllocator::of(device).set_limit(std::move(limit));
}

CountedMemory counted_memory(Device device) {
  if (device.is_cpu()) return CachingAllocator::of_host()->counted();
  const AllocatorStatistics statistics = DeviceAllocator::of(device).statistics();
  return {.in_use = statistics.bytes_in_use, .registered = 0, .peak = statistics.peak_bytes_in_use};
}

RegisteredBytes::RegisteredBytes(std::size_t bytes) : counter_(CachingAllocator::of_host()), bytes_(bytes) {
  counter_->count_registered(bytes_);
}

RegisteredBytes::~RegisteredBytes() { counter_->forget_registered(bytes_); }

}  // namespace lockstep
