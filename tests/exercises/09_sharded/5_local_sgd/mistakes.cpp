#include <algorithm>

#include "09_sharded/5_local_sgd/local_sgd.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_broadcast", "every rank begins with values of its own", "First broadcast() rank 0's values."},
    {"averages_every_step", "values are averaged after every step, so nothing is saved",
     "Only after every `interval` steps: step % interval == 0, with steps counted from 1."},
    {"counts_from_zero", "steps are counted from 0, so the first average comes after the first step",
     "After step 1 nothing is due; after step `interval` it is."},
    {"forgets_last_steps", "the last steps, which are fewer than the interval, are not averaged",
     "After the last step an average is due, whatever its number."},
    {"averages_at_the_end_only", "values are averaged after the last step only",
     "An average is due after every `interval` steps, too."},
    {"averages_twice", "after the last step values are averaged twice",
     "If the interval divides the number of steps, the last average has been made in the loop."},
    {"averages_once", "only the first average is made", "What counts the steps since the last average begins anew."},
    {"sums", "values are sums over the ranks, not means", "Divide by world_size() after synchronize()."},
    {"divides_by_interval", "sums are divided by the interval, not by the number of ranks",
     "Each rank has contributed once to every value."},
    {"averages_moments", "moments are averaged too", "They stay each rank's own."},
    {"resets_moments", "moments are set to zero when values are averaged", "Leave them as they are."},
    {"moments_for_values", "moments are averaged and values are not", "values() is what the ranks average."},
    {"one_by_one", "every value has an all-reduce of its own", "values() is one block: all-reduce it at once."},
    {"averages_before_step", "values are averaged before the step after which it is due",
     "First step(), then the average."},
    {"not_awaited", "the all-reduce of values is not waited for", "Call synchronize() before you use the values."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_mistake;

namespace {

void average(std::span<float> values, std::int64_t interval, Collectives& group) {
  if (is_mistake("one_by_one")) {
    for (std::size_t i = 0; i < values.size(); ++i) group.all_reduce(values.subspan(i, 1)).synchronize();
  } else {
    Work work = group.all_reduce(values);
    if (!is_mistake("not_awaited")) work.synchronize();
  }
  auto divisor = static_cast<float>(group.world_size());
  if (is_mistake("sums")) divisor = 1;
  if (is_mistake("divides_by_interval")) divisor = static_cast<float>(interval);
  for (float& value : values) value /= divisor;
}

bool is_due(std::int64_t step, std::int64_t steps, std::int64_t interval) {
  if (is_mistake("averages_every_step")) return true;
  if (is_mistake("counts_from_zero")) return (step - 1) % interval == 0 || step == steps;
  if (is_mistake("forgets_last_steps")) return step % interval == 0;
  if (is_mistake("averages_at_the_end_only")) return step == steps;
  if (is_mistake("averages_once")) return step == std::min(interval, steps);
  return step % interval == 0 || step == steps;
}

}  // namespace

void train_locally(LocalModel& model, std::int64_t steps, std::int64_t interval, Collectives& group) {
  if (!is_mistake("no_broadcast")) group.broadcast(model.values(), 0).synchronize();
  for (std::int64_t step = 1; step <= steps; ++step) {
    const bool due = is_due(step, steps, interval);
    if (!is_mistake("averages_before_step")) model.step();
    if (due && !is_mistake("moments_for_values")) average(model.values(), interval, group);
    if (due && (is_mistake("averages_moments") || is_mistake("moments_for_values")))
      average(model.moments(), interval, group);
    if (due && is_mistake("resets_moments")) std::ranges::fill(model.moments(), 0.0F);
    if (is_mistake("averages_before_step")) model.step();
  }
  if (is_mistake("averages_twice")) average(model.values(), interval, group);
}

}  // namespace lockstep::sharded
