#include "net/silence.hpp"

#include <chrono>

#include "base/error.hpp"

namespace lockstep::net {

std::string format_silence(Deadline::Clock::time_point since, const Deadline& deadline) {
  const std::chrono::nanoseconds silent = Deadline::Clock::now() - since, waited = deadline.waited();
  if (silent >= waited * 9 / 10) return format_seconds(waited);
  return concat("the last ", format_seconds(silent), " of ", format_seconds(waited));
}

}  // namespace lockstep::net
