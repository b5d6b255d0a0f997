#pragma once
/// @file
/// Records a rank's activities over time: spans on lanes.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::trace {

/// The clock of all spans: ranks on one machine share it.
using Clock = std::chrono::steady_clock;

/// The kind of work in a span; determines its colour and its row in summaries.
enum class Category { kData, kForward, kBackward, kCommunication, kWait, kOptimizer, kCheckpoint, kOther };

inline constexpr std::size_t kCategoryCount = 8;

/// "data", "forward", "backward", "communication", "wait", "optimizer", "checkpoint", "other".
[[nodiscard]] std::string_view name_of(Category category) noexcept;

struct SpanRecord {
  std::string name;  ///< For example "bucket 3".
  Category category = Category::kOther;
  int lane = 0;  ///< Index into RankTrace::lanes.
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;  ///< On the rank's steady clock.
  std::int64_t end_ns = 0;    ///< On the same clock.
};

struct RankTrace {
  int rank = 0;
  std::vector<std::string> lanes;   ///< Names, such as "compute".
  std::vector<SpanRecord> spans;    ///< In order of begin.
  std::uint64_t dropped_spans = 0;  ///< Earlier spans that were overwritten.
  std::int64_t wall_offset_ns = 0;  ///< Wall clock minus steady clock on this rank.
  std::string boot_id;              ///< Ranks with equal boot ids share one steady clock.
};

/// How much a process group records. kMessages adds a span in the lane "messages" for each message that a collective
/// sends or receives, "send 4096 bytes to rank 1", if the group's backend sends messages itself.
enum class MessageDetail { kNone, kMessages };

/// Collects the spans of one rank; keeps the newest `capacity`. Thread safety: any thread.
/// @cost  Per span: two clock readings, a short lock and a copy of its name; under a microsecond.
class Recorder {
 public:
  /// @param capacity  Spans kept; memory grows up to it, about 80 bytes each.
  /// @param detail    Whether to record single messages, too.
  /// @throws ContractError  A capacity of 0.
  explicit Recorder(int rank, std::size_t capacity = 100'000, MessageDetail detail = MessageDetail::kNone);

  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// True if process groups should record their messages.
  [[nodiscard]] bool has_messages() const noexcept { return detail_ == MessageDetail::kMessages; }

  /// The lane of that name, one row of the timeline such as "compute" or "communication"; made on first use.
  [[nodiscard]] int lane(std::string_view name);

  /// Sets the training step of later spans. @param step  Counted from 1.
  void set_step(std::int64_t step) noexcept { step_.store(step, std::memory_order_relaxed); }

  /// Adds a finished span. @param lane  From lane(). @throws ContractError  No such lane.
  void record(int lane, std::string_view name, Category category, Clock::time_point begin, Clock::time_point end);

  /// A copy of the spans so far.
  [[nodiscard]] RankTrace snapshot() const;

 private:
  int rank_;
  std::size_t capacity_;
  MessageDetail detail_;
  std::atomic<std::int64_t> step_ = 0;
  std::int64_t wall_offset_ns_;
  mutable std::mutex mutex_;
  std::vector<std::string> lanes_;
  std::vector<SpanRecord> ring_;  // when full, begins at next_
  std::size_t next_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Records a span from its construction to its destruction: `const ScopedSpan span(recorder, lane, "forward",
/// Category::kForward);`
class ScopedSpan {
 public:
  /// @param recorder  Null: records nothing. @param lane  Of that recorder.
  ScopedSpan(Recorder* recorder, int lane, std::string_view name, Category category)
      : recorder_(recorder), lane_(lane), name_(name), category_(category), begin_(Clock::now()) {}
  /// Records the span; errors are logged.
  ~ScopedSpan();
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  Recorder* recorder_;
  int lane_;
  std::string name_;
  Category category_;
  Clock::time_point begin_;
};

}  // namespace lockstep::trace
