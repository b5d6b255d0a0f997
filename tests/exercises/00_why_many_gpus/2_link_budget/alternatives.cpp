#include "exercise/alternatives.hpp"

#include "00_why_many_gpus/2_link_budget/link_budget.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"step_by_step", "the steps of the ring are added up one after another, in microseconds"},
    {"formula", "2 (P-1)/P of the buffer crosses the link, and each step adds a latency"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_alternative;

namespace {

double rate_of(const LinkLabel& label) {
  double rate = label.rate * 1e9;
  if (label.unit == RateUnit::kGigabits) rate *= 0.125;
  if (label.counted == Directions::kBothWays) rate *= 0.5;
  return rate;
}

}  // namespace

LinkBudget link_budget(const LinkLabel& label, double bytes, int world_size, double computing_seconds) {
  LinkBudget budget{.bytes_per_second = rate_of(label)};
  const double ranks = world_size;
  if (is_alternative("step_by_step")) {
    double microseconds = 0;
    for (int step = 0; step < 2 * (world_size - 1); ++step) {
      budget.ring_bytes += bytes / ranks;
      microseconds += label.alpha_us + bytes / ranks * 1e6 / budget.bytes_per_second;
    }
    budget.ring_seconds = microseconds / 1e6;
  } else {
    budget.ring_bytes = bytes * 2 * (ranks - 1) / ranks;
    budget.ring_seconds = 2 * (ranks - 1) * label.alpha_us / 1e6 + budget.ring_bytes / budget.bytes_per_second;
  }
  if (world_size > 1)
    budget.star_seconds = 2 * (label.alpha_us / 1e6 + (bytes * ranks - bytes) / budget.bytes_per_second);
  budget.efficiency = 1 / (1 + budget.ring_seconds / computing_seconds);
  return budget;
}

}  // namespace lockstep::plan
