#include "exercise/alternatives.hpp"

#include <algorithm>
#include <deque>

#include "09_sharded/3_stage_costs/stage_costs.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"plays_the_step", "the passes of a step are played through, with a list of the units that are whole"},
    {"adds_up_part_by_part", "each unit is counted by itself, with how often it is sent, in bytes of one rank's part"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_alternative;

namespace {

// How often each unit is gathered in a step of stage 3.
std::vector<std::int64_t> gathers(const ShardedRun& run) {
  const auto count = static_cast<std::ptrdiff_t>(run.units.size());
  std::vector<std::int64_t> gathered(run.units.size());
  if (is_alternative("adds_up_part_by_part")) {
    const auto kept = static_cast<std::ptrdiff_t>(run.most_whole);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      std::int64_t& times = gathered[static_cast<std::size_t>(i)];
      times = 2 * run.micro_batches;
      if (i >= count - kept) times -= run.micro_batches;
      if (i < kept) times -= run.micro_batches - 1;
    }
    return gathered;
  }
  std::deque<std::ptrdiff_t> whole;
  for (int pass = 0; pass < 2 * run.micro_batches; ++pass) {
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const std::ptrdiff_t unit = pass % 2 == 0 ? k : count - 1 - k;
      if (std::erase(whole, unit) == 0) ++gathered[static_cast<std::size_t>(unit)];
      whole.push_back(unit);
      if (std::ssize(whole) > run.most_whole) whole.pop_front();
    }
  }
  return gathered;
}

std::int64_t largest_window(const std::vector<std::int64_t>& units, std::int64_t length) {
  std::int64_t sum = 0, largest = 0;
  for (std::int64_t i = 0; i < std::ssize(units); ++i) {
    sum += units[static_cast<std::size_t>(i)];
    if (i >= length) sum -= units[static_cast<std::size_t>(i - length)];
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

std::int64_t bytes_sent(Stage stage, const ShardedRun& run) {
  const std::vector<std::int64_t> gathered = gathers(run);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < run.units.size(); ++i) {
    const bool reduces_often = stage == Stage::kZero2 || stage == Stage::kZero3;
    const std::int64_t reductions = reduces_often ? run.micro_batches : 1;
    const std::int64_t exchanges = reductions + (stage == Stage::kZero3 ? gathered[i] : 1);
    bytes += exchanges * (run.ranks - 1) * (run.units[i] / run.ranks) * 4;
  }
  return bytes;
}

BytesHeld most_bytes_held(Stage stage, const ShardedRun& run) {
  std::int64_t all = 0;
  for (const std::int64_t unit : run.units) all += unit;
  BytesHeld held{4 * all, 4 * all, 8 * all};
  const auto divide = [&](std::int64_t& bytes, std::int64_t whole) { bytes = bytes / run.ranks + 4 * whole; };
  switch (stage) {
    case Stage::kZero3:
      divide(held.values, largest_window(run.units, run.most_whole));
      [[fallthrough]];
    case Stage::kZero2:
      divide(held.gradients, largest_window(run.units, 2));
      [[fallthrough]];
    case Stage::kZero1:
      divide(held.moments, 0);
      break;
    case Stage::kDdp:
      break;
  }
  return held;
}

}  // namespace lockstep::sharded
