#include <algorithm>
#include <cstddef>

#include "09_sharded/3_stage_costs/stage_costs.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"half_an_all_reduce", "an all-reduce is counted as one pass over the ring instead of two",
     "An all-reduce is a reduce-scatter and an all-gather."},
    {"sends_whole_buffers", "a rank sends all bytes of a unit, its own part's result included",
     "Of each collective a rank sends (ranks - 1) / ranks of the bytes."},
    {"integer_quotient", "(ranks - 1) / ranks is a quotient of two integers, and 0",
     "Multiply first: ranks divides the elements of each unit."},
    {"counts_received", "what a rank receives is counted too", "Count what it sends."},
    {"stage_1_every_micro_batch", "in stage 1 the gradients of every micro-batch are sent",
     "Stage 1 has room for whole gradients: they are added up, and sent once a step."},
    {"stage_2_once", "in stage 2 gradients are sent once a step",
     "Stage 2 keeps parts of gradients only: each micro-batch has to be reduced at once."},
    {"stage_2_gathers_often", "in stage 2 values are gathered in every micro-batch",
     "Values are whole in stage 2, and change once a step."},
    {"stage_3_one_gather", "in stage 3 backward gathers nothing",
     "Most units have been released since forward: gather them again."},
    {"stage_3_keeps_nothing", "in stage 3 every pass gathers all units",
     "Backward begins with the units that forward has used last: they are whole."},
    {"keeps_over_update", "units that were whole before the update count as whole in the next step",
     "The update makes new values: what was gathered before is old."},
    {"keeps_for_backward_only", "no unit stays whole from backward to the next micro-batch",
     "The next forward pass begins with the units that backward has used last."},
    {"gathers_after_update", "in stage 3 all values are gathered after the update, too",
     "The next pass gathers each unit when it needs it."},
    {"moments_not_divided", "moments are not divided", "From stage 1 on a rank has moments of its own part only."},
    {"one_moment", "AdamW is counted with one moment", "It keeps a mean of gradients and one of their squares."},
    {"master_copy", "a float32 copy of the values is counted with the moments",
     "Only training in mixed precision has it; here values are float32 themselves."},
    {"stage_1_divides_gradients", "gradients are divided in stage 1", "That begins with stage 2."},
    {"no_whole_gradients", "the gradients of units that backward is at are not counted",
     "Backward computes whole gradients; they are reduced afterwards."},
    {"one_whole_gradient", "one unit's whole gradients are counted, not two",
     "While backward computes one unit, the one before it is still being reduced."},
    {"twice_the_largest", "the largest unit is counted several times, although it is there once",
     "Units that are whole at the same time are neighbours: find the largest sum of neighbours."},
    {"largest_anywhere", "the largest units are counted, wherever they are in the model",
     "Units that are whole at the same time are neighbours: passes go through them in their order."},
    {"no_whole_units", "in stage 3 only the parts of values are counted", "While a unit is used, all of it is there."},
    {"parts_inside_whole_units", "in stage 3 the parts of values are not counted beside the whole units",
     "A unit is gathered into memory of its own; the rank's part stays where it is."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_mistake;

namespace {

std::int64_t sum(const std::vector<std::int64_t>& units, std::size_t first, std::size_t length) {
  std::int64_t elements = 0;
  for (std::size_t i = first; i < std::min(first + length, units.size()); ++i) elements += units[i];
  return elements;
}

std::int64_t largest_run(const std::vector<std::int64_t>& units, std::size_t length) {
  length = std::min(length, units.size());
  if (is_mistake("twice_the_largest"))
    return static_cast<std::int64_t>(length) * *std::max_element(units.begin(), units.end());
  if (is_mistake("largest_anywhere")) {
    std::vector<std::int64_t> sorted = units;
    std::sort(sorted.rbegin(), sorted.rend());
    return sum(sorted, 0, length);
  }
  std::int64_t largest = 0;
  for (std::size_t first = 0; first + length <= units.size(); ++first)
    largest = std::max(largest, sum(units, first, length));
  return largest;
}

// Elements that stage 3 gathers in a step.
std::int64_t gathered(const ShardedRun& run) {
  const std::int64_t all = sum(run.units, 0, run.units.size()), m = run.micro_batches;
  const std::size_t kept = std::min(static_cast<std::size_t>(run.most_whole), run.units.size());
  const std::int64_t first = sum(run.units, 0, kept), last = sum(run.units, run.units.size() - kept, kept);
  if (is_mistake("stage_3_one_gather")) return m * all;
  if (is_mistake("stage_3_keeps_nothing")) return 2 * m * all;
  if (is_mistake("keeps_over_update")) return 2 * m * all - m * (first + last);
  if (is_mistake("keeps_for_backward_only")) return 2 * m * all - m * last;
  return 2 * m * all - m * last - (m - 1) * first + (is_mistake("gathers_after_update") ? all : 0);
}

}  // namespace

std::int64_t bytes_sent(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units, 0, run.units.size()), m = run.micro_batches;
  std::int64_t elements = 2 * all;
  if (stage == Stage::kDdp && is_mistake("half_an_all_reduce")) elements = all;
  if (stage == Stage::kZero1 && is_mistake("stage_1_every_micro_batch")) elements = (m + 1) * all;
  if (stage == Stage::kZero2) elements = (is_mistake("stage_2_once") ? 2 : m + 1) * all;
  if (stage == Stage::kZero2 && is_mistake("stage_2_gathers_often")) elements = 2 * m * all;
  if (stage == Stage::kZero3) elements = gathered(run) + m * all;
  if (is_mistake("sends_whole_buffers")) return 4 * elements;
  if (is_mistake("integer_quotient")) return 4 * elements * ((run.ranks - 1) / run.ranks);
  return (is_mistake("counts_received") ? 8 : 4) * elements / run.ranks * (run.ranks - 1);
}

BytesHeld most_bytes_held(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units, 0, run.units.size()), part = all / run.ranks;
  BytesHeld held{4 * all, 4 * all, 8 * all};
  if (stage >= Stage::kZero1 && !is_mistake("moments_not_divided")) held.moments = 8 * part;
  if (is_mistake("one_moment")) held.moments /= 2;
  if (is_mistake("master_copy")) held.moments += held.moments / 2;
  if (stage >= Stage::kZero2) {
    const std::int64_t whole = is_mistake("no_whole_gradients")   ? 0
                               : is_mistake("one_whole_gradient") ? largest_run(run.units, 1)
                                                                  : largest_run(run.units, 2);
    held.gradients = 4 * (part + whole);
  }
  if (stage == Stage::kZero1 && is_mistake("stage_1_divides_gradients")) held.gradients = 4 * part;
  if (stage == Stage::kZero3) {
    const std::int64_t whole = largest_run(run.units, static_cast<std::size_t>(run.most_whole));
    held.values = 4 * (is_mistake("parts_inside_whole_units") ? whole
                       : is_mistake("no_whole_units")         ? part
                                                              : part + whole);
  }
  return held;
}

}  // namespace lockstep::sharded
