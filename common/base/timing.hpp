#pragma once
/// @file
/// Tools for measurements: a stopwatch and the median.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace lockstep {

/// Runs from construction. A value type.
class Stopwatch {
 public:
  /// Since construction.
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Nanoseconds of the steady clock, which all processes of a host share.
[[nodiscard]] inline std::int64_t steady_now_ns() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The middle value; for an even number of values, the larger of the two middle ones. It shows the usual case, whereas
/// a single scheduling delay would shift the mean.
/// @throws ContractError  There are no values.
[[nodiscard]] inline double median(std::vector<double> values) {
  require(!values.empty(), "median: no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace lockstep
