#include "base/deadline.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace lockstep {

Deadline Deadline::after(std::chrono::nanoseconds budget) {
  const auto now = Clock::now();
  // A budget beyond the clock's range means "never" rather than an overflow into the past.
  if (budget > Clock::time_point::max() - now) return Deadline(Clock::time_point::max(), now);
  return Deadline(now + std::chrono::duration_cast<Clock::duration>(budget), now);
}

std::chrono::nanoseconds Deadline::remaining() const noexcept {
  if (is_never()) return std::chrono::nanoseconds::max();
  return std::max<std::chrono::nanoseconds>(when_ - Clock::now(), std::chrono::nanoseconds::zero());
}

int Deadline::poll_timeout_ms(int limit) const noexcept {
  if (is_never()) return limit;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(remaining()).count();
  const auto cap = limit >= 0 ? limit : std::numeric_limits<int>::max();
  return static_cast<int>(std::min<decltype(left)>(left, cap));
}

std::string format_seconds(std::chrono::nanoseconds duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(duration).count());
  return text;
}

}  // namespace lockstep
