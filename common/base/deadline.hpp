#pragma once
/// @file
/// A point in time by which an operation must be done. Made once at the edge of an API and passed down, so that nested
/// waits share one budget.
#include <chrono>
#include <string>

namespace lockstep {

/// A point of the steady clock, or never. A value type; any thread may use its own copy.
class Deadline {
 public:
  /// Monotonic, so changes of the system time do not move a deadline.
  using Clock = std::chrono::steady_clock;

  /// The deadline `budget` from now. A negative budget has already expired.
  [[nodiscard]] static Deadline after(std::chrono::nanoseconds budget);

  [[nodiscard]] static Deadline never() noexcept { return Deadline(Clock::time_point::max(), Clock::now()); }

  [[nodiscard]] bool is_never() const noexcept { return when_ == Clock::time_point::max(); }
  [[nodiscard]] bool has_expired() const noexcept { return !is_never() && Clock::now() >= when_; }

  /// Time left, never negative; for `never()` the largest duration.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  [[nodiscard]] std::chrono::nanoseconds waited() const noexcept { return Clock::now() - made_; }

  /// Timeout for poll(2) in milliseconds: rounded up, -1 for `never()`, at most `limit` if one is given (>= 0).
  [[nodiscard]] int poll_timeout_ms(int limit = -1) const noexcept;

  /// For waits of the standard library.
  [[nodiscard]] Clock::time_point when() const noexcept { return when_; }

  [[nodiscard]] Deadline earliest(const Deadline& other) const noexcept { return other.when_ < when_ ? other : *this; }

 private:
  Deadline(Clock::time_point when, Clock::time_point made) noexcept : when_(when), made_(made) {}

  Clock::time_point when_;
  Clock::time_point made_;
};

/// A duration in seconds with one decimal, for messages: "5.0 s".
[[nodiscard]] std::string format_seconds(std::chrono::nanoseconds duration);

}  // namespace lockstep
