#include "trace/recorder.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

namespace lockstep::trace {

namespace {

std::int64_t nanoseconds_of(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::int64_t measure_wall_offset() {
  const auto steady_before = Clock::now();
  const auto wall = std::chrono::system_clock::now();
  const auto steady_after = Clock::now();
  const auto steady = steady_before + (steady_after - steady_before) / 2;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall.time_since_epoch()).count() - nanoseconds_of(steady);
}

// The kernel's identifier for this boot of this machine; empty if it is unavailable.
std::string read_boot_id() {
  try {
    std::string id = read_file("/proc/sys/kernel/random/boot_id");
    std::erase(id, '\n');
    return id;
  } catch (const IoError&) {
    return "";
  }
}

}  // namespace

std::string_view name_of(Category category) noexcept {
  constexpr std::array<std::string_view, kCategoryCount> kNames = {"data", "forward",   "backward",   "communication",
                                                                   "wait", "optimizer", "checkpoint", "other"};
  return kNames[static_cast<std::size_t>(category)];
}

Recorder::Recorder(int rank, std::size_t capacity, MessageDetail detail)
    : rank_(rank), capacity_(capacity), detail_(detail), wall_offset_ns_(measure_wall_offset()) {
  require(capacity >= 1, "a trace recorder for no span");
}

int Recorder::lane(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(lanes_.begin(), lanes_.end(), name);
  const auto index = static_cast<int>(found - lanes_.begin());
  if (found == lanes_.end()) lanes_.emplace_back(name);
  return index;
}

void Recorder::record(int lane, std::string_view name, Category category, Clock::time_point begin,
                      Clock::time_point end) {
  SpanRecord span{.name = std::string(name),
                  .category = category,
                  .lane = lane,
                  .step = step_.load(std::memory_order_relaxed),
                  .begin_ns = nanoseconds_of(begin),
                  .end_ns = nanoseconds_of(end)};
  const std::lock_guard lock(mutex_);
  require(lane >= 0 && lane < static_cast<int>(lanes_.size()), "span ", name, " on lane ", lane, " of ", lanes_.size());
  if (ring_.size() < capacity_) {
    ring_.push_back(std::move(span));
    return;
  }
  ring_[next_] = std::move(span);
  next_ = (next_ + 1) % capacity_;  // in a full ring the oldest span follows the newest
  ++dropped_;
}

RankTrace Recorder::snapshot() const {
  RankTrace trace;
  trace.rank = rank_;
  trace.wall_offset_ns = wall_offset_ns_;
  trace.boot_id = read_boot_id();
  {
    const std::lock_guard lock(mutex_);
    trace.lanes = lanes_;
    trace.spans = ring_;
    trace.dropped_spans = dropped_;
  }
  std::ranges::stable_sort(trace.spans, {}, &SpanRecord::begin_ns);
  return trace;
}

ScopedSpan::~ScopedSpan() {
  if (recorder_ == nullptr) return;
  try {
    recorder_->record(lane_, name_, category_, begin_, Clock::now());
  } catch (const std::exception& error) {
    Logger().warning(concat("a span is not recorded: ", error.what()));
  }
}

}  // namespace lockstep::trace
