#pragma once
/// @file
/// Order inside an interval: vector clocks of the lanes of each warp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "emulator/checker/access.hpp"

namespace lockstep::emulator::checker {

/// A clock for each thread of a block, and what each knows of the other lanes of its warp. Usually all lanes of a warp
/// meet: one number then replaces 32 vector clocks. Thread safety: none.
class WarpClocks {
 public:
  using Lanes = std::array<std::uint32_t, 32>;

  /// @param last  Tests choose a smaller one.
  explicit WarpClocks(std::uint32_t last = std::numeric_limits<std::uint32_t>::max()) : last_(last) {}

  /// Forgets all meetings of these threads: an interval begins.
  void start_anew(std::uint32_t thread_count) {
    std::fill_n(own_.begin(), thread_count, 1U);
    warp_.fill(0);
    if (any_lanes_) std::fill_n(lanes_.begin(), thread_count, Lanes{});
    any_lanes_ = false;
  }
  /// True if a clock of these threads cannot rise further: an interval must begin first.
  [[nodiscard]] bool is_used_up(std::uint32_t first, std::uint32_t count) const noexcept {
    const auto begin = own_.begin() + first;
    return *std::max_element(begin, begin + count) >= last_;
  }

  [[nodiscard]] std::uint32_t of(std::uint32_t thread) const noexcept { return own_[thread]; }
  /// True if an access of the same warp in the same interval is ordered before the thread's current one.
  [[nodiscard]] bool is_ordered(const Access& before, std::uint32_t thread) const noexcept {
    return before.clock < warp_[thread / 32] || lanes_[thread][before.thread() % 32] >= before.clock;
  }

  /// All `count` lanes of the warp met.
  void meet_all(std::uint32_t warp, std::uint32_t count) {
    const auto begin = own_.begin() + warp * 32;
    warp_[warp] = *std::max_element(begin, begin + count) + 1;
    std::fill(begin, begin + count, warp_[warp]);
  }
  /// The lanes of `mask` met.
  void meet_some(std::uint32_t warp, std::uint32_t mask) {
    any_lanes_ = true;
    Lanes joined{};
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      const std::uint32_t thread = warp * 32 + lane;
      for (std::size_t i = 0; i < 32; ++i) joined[i] = std::max(joined[i], lanes_[thread][i]);
      joined[lane] = std::max(joined[lane], own_[thread]);
    }
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      lanes_[warp * 32 + lane] = joined;
      ++own_[warp * 32 + lane];
    }
  }
  /// The last clock of each lane that the thread knows, its own included; its later accesses get a later one.
  [[nodiscard]] Lanes seen_by(std::uint32_t thread) {
    Lanes seen = lanes_[thread];
    const std::uint32_t common = warp_[thread / 32];
    for (std::uint32_t& clock : seen) clock = common == 0 ? clock : std::max(clock, common - 1);
    seen[thread % 32] = own_[thread]++;
    return seen;
  }

 private:
  std::uint32_t last_;
  std::vector<std::uint32_t> own_ = std::vector<std::uint32_t>(1024, 1);
  std::vector<Lanes> lanes_ = std::vector<Lanes>(1024);
  Lanes warp_{};            // by warp: accesses with smaller clocks are ordered for all its lanes
  bool any_lanes_ = false;  // lanes_ is not all zeros
};

}  // namespace lockstep::emulator::checker
