#include "exercise/machine_factor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace lockstep::exercise {
namespace {

using Clock = std::chrono::steady_clock;

double processor_milliseconds_of_thread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

MachineFactor measure_machine_factor() {
  constexpr double kNominalMilliseconds = 10;
  MachineFactor best{1e9, 1e9};
  for (int round = 0; round < 3; ++round) {
    const Clock::time_point begin = Clock::now();
    const double processor_begin = processor_milliseconds_of_thread();
    std::uint64_t state = 88172645463325252ULL;
    for (int i = 0; i < 4'000'000; ++i) {  // xorshift64: each step depends on the last
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
    }
    if (state == 0) return {};  // never true; keeps the compiler from dropping the loop
    best.wall = std::min(best.wall, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    best.processor = std::min(best.processor, processor_milliseconds_of_thread() - processor_begin);
  }
  return {std::clamp(best.wall / kNominalMilliseconds, 1.0, 20.0),
          std::clamp(best.processor / kNominalMilliseconds, 1.0, 20.0)};
}

}  // namespace

const MachineFactor& machine_factor() {
  static const MachineFactor factor = measure_machine_factor();
  return factor;
}

}  // namespace lockstep::exercise
