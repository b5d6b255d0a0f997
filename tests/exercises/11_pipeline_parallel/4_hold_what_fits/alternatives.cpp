#include "exercise/alternatives.hpp"

#include <algorithm>
#include <numeric>

#include "../played_schedule.hpp"
#include "11_pipeline_parallel/4_hold_what_fits/hold_what_fits.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"plays_the_clock", "each action's bytes are counted anew; most_that_fit() tries lists; all ranks are played"},
    {"prefers_forward", "bytes from differences; a rank that could do both passes does the forward pass"},
    {"equal_units", "the clock counts a backward pass as one unit, and a rank takes no more than the one before it"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {

using exercise::is_alternative;

namespace {

using Numbers = std::vector<std::int64_t>;

bool has(std::span<const Action> actions, const Action& wanted) {
  return std::find(actions.begin(), actions.end(), wanted) != actions.end();
}

Action back_of(const Action& action) { return {Pass::kBackward, action.stage, action.micro_batch}; }

// Each action adds what begins with it, and takes off what ended before it.
Numbers from_differences(std::span<const Action> actions, const StageBytes& bytes) {
  Numbers changes(actions.size() + 1);
  bool is_first_backward = true;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::int64_t of_pass = bytes.output + bytes.input, kept = bytes.input + bytes.saved;
    if (actions[i].pass == Pass::kBackward) {
      changes[i] += of_pass + (is_first_backward ? bytes.weight_gradients : 0);
      changes[i + 1] -= of_pass + kept;
      is_first_backward = false;
    } else if (has(actions.subspan(i), back_of(actions[i]))) {
      changes[i] += kept + bytes.output;
      changes[i + 1] -= bytes.output;
    } else {
      changes[i] += of_pass;
      changes[i + 1] -= of_pass;
    }
  }
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  changes.pop_back();
  return changes;
}

// Of one action, by itself.
std::int64_t counted(std::span<const Action> actions, std::size_t at, const StageBytes& bytes) {
  const std::span<const Action> until = actions.first(at), from = actions.subspan(at);
  std::int64_t sum = bytes.output;
  for (const Action& action : until)
    if (action.pass == Pass::kForward && has(from, back_of(action))) sum += bytes.input + bytes.saved;
  const Action& now = actions[at];
  const bool is_backward = now.pass == Pass::kBackward;
  if (is_backward || !has(from, back_of(now)))
    sum += bytes.input;
  else
    sum += bytes.input + bytes.saved;
  const bool has_begun = is_backward || std::ranges::count(until, Pass::kBackward, &Action::pass) > 0;
  return sum + (has_begun ? bytes.weight_gradients : 0);
}

}  // namespace

std::vector<std::int64_t> bytes_during(std::span<const Action> actions, const StageBytes& bytes) {
  if (!is_alternative("plays_the_clock")) return from_differences(actions, bytes);
  Numbers result;
  for (std::size_t i = 0; i < actions.size(); ++i) result.push_back(counted(actions, i, bytes));
  return result;
}

int most_that_fit(const StageBytes& bytes, std::int64_t budget) {
  if (!is_alternative("plays_the_clock"))
    return static_cast<int>(std::max<std::int64_t>(0, budget - bytes.weight_gradients - bytes.output - bytes.input) /
                            (bytes.input + bytes.saved));
  for (int held = 1;; ++held) {
    const std::vector<Action> actions = gpipe(1, held).front();
    if (std::ranges::max(bytes_during(actions, bytes)) > budget) return held - 1;
  }
}

Schedule schedule_within(int micro_batches, std::span<const int> most_held) {
  using exercise::PlayedSchedule;
  using exercise::Prefer;
  std::vector<int> limits = exercise::limits_of(most_held);
  if (is_alternative("plays_the_clock")) return PlayedSchedule(micro_batches, limits, Prefer::kBackward, 2).schedule();
  if (is_alternative("prefers_forward")) return PlayedSchedule(micro_batches, limits, Prefer::kForward, 2).schedule();
  for (std::size_t rank = 1; rank < limits.size(); ++rank) limits[rank] = std::min(limits[rank], limits[rank - 1]);
  for (std::size_t rank = limits.size() - 1; rank-- > 0;) limits[rank] = std::min(limits[rank], limits[rank + 1] + 1);
  return PlayedSchedule(micro_batches, limits, Prefer::kBackward, 1).schedule();
}

}  // namespace lockstep::pipeline
