#include <algorithm>
#include <cmath>
#include <numeric>

#include "11_pipeline_parallel/2_predict_bubbles/predictions.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"backward_as_forward", "a backward pass takes as long as a forward pass", "It takes twice as long."},
    {"forward_only", "only the forward passes are counted", "A step ends with the last backward pass."},
    {"naive_overlaps", "in the naive order micro-batches follow one another", "The next one begins when one is back."},
    {"slowest_everywhere", "the first micro-batch takes as long on every rank as on the slowest one",
     "It takes each rank's own time; only the distance of the others is that of the slowest rank."},
    {"mean_rank", "every rank takes the mean of all ranks", "Micro-batches queue up before the slowest rank."},
    {"first_rank_decides", "the first rank's time is the distance of micro-batches",
     "They leave the slowest rank at its pace, wherever it is."},
    {"p_ranks_to_fill", "the pipeline fills for p units", "Rank 0 is busy from the beginning: p - 1."},
    {"no_filling", "the time in which the pipeline fills and empties is left out", "Draw the last rank's first unit."},
    {"half_a_bubble", "1F1B is idle only until the pipeline is full", "In the end it empties, as GPipe does."},
    {"share_of_all", "idle time is divided by all time", "The bubble (p-1)/m is idle time per busy time."},
    {"always_the_formula", "idle time per busy time is (p-1)/m in any order and with unequal ranks",
     "Count what is idle: ranks * step_units() less what they compute."},
    {"integer_quotient", "idle time is divided by busy time as integers", "Divide doubles: 18 / 36 is 0."},
    {"no_naive_bubble", "the naive bubble is divided by the number of micro-batches",
     "With more micro-batches the naive order is busy longer, and idle longer."},
    {"naive_holds_all", "in the naive order a rank holds all micro-batches",
     "One is back before the next one begins: a rank holds one."},
    {"one_holds_all", "with 1F1B a rank holds all micro-batches, as with GPipe", "It holds at most p - r."},
    {"all_hold_p", "with 1F1B every rank holds as many as rank 0", "The last rank holds one."},
    {"without_the_one_in_turn", "with 1F1B only the forward passes at the beginning are counted",
     "One more forward pass comes before the first backward pass."},
    {"more_than_there_are", "with 1F1B a rank holds p - r micro-batches, although there are fewer",
     "It cannot hold more than m."},
    {"held_from_the_wrong_end", "with 1F1B the last rank holds most", "Rank 0 waits longest for a gradient."},
    {"ends_as_the_middle", "the first and the last rank send as much as those in the middle",
     "The last rank sends no output, and the first one no gradient."},
    {"no_gradients_sent", "only outputs are sent", "Their gradients come back."},
    {"one_micro_batch_sent", "the activations of one micro-batch are counted", "Each micro-batch passes each border."},
    {"no_table", "the table is left out", "The last rank needs it for the head."},
    {"table_every_time", "the table is sent for every micro-batch", "Its values change once a step."},
    {"table_of_all", "every rank sends the table", "Only the first and the last rank have it."},
    {"table_alone", "a single rank sends the table to itself", "It has all blocks: there is nobody to send to."},
    {"counts_elements", "elements are counted instead of bytes", "A float32 has 4 bytes."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {
namespace {

using exercise::is_mistake;

std::int64_t ranks_of(const PipelineRun& run) { return std::ssize(run.forward_units); }

std::int64_t sum_of(const PipelineRun& run) {
  return std::accumulate(run.forward_units.begin(), run.forward_units.end(), std::int64_t{0});
}

// In forward units: one micro-batch through all ranks, and what each further one adds.
std::int64_t forward_units_of(Order order, const PipelineRun& run) {
  const std::int64_t m = run.micro_batches, sum = sum_of(run), p = ranks_of(run);
  std::int64_t way = sum, distance = std::ranges::max(run.forward_units);
  if (order == Order::kNaive && !is_mistake("naive_overlaps")) return m * sum;
  if (is_mistake("mean_rank")) return (m + p - 1) * sum / p;
  if (is_mistake("first_rank_decides")) distance = run.forward_units.front();
  if (is_mistake("slowest_everywhere")) way = p * distance;
  if (is_mistake("p_ranks_to_fill")) way += distance;
  if (is_mistake("no_filling")) way = distance;
  return way + (m - 1) * distance;
}

}  // namespace

std::int64_t step_units(Order order, const PipelineRun& run) {
  const std::int64_t forward = forward_units_of(order, run);
  if (is_mistake("forward_only")) return forward;
  if (order == Order::kOneForwardOneBackward && is_mistake("half_a_bubble"))
    return (3 * run.micro_batches + ranks_of(run) - 1) * run.forward_units.front();
  return (is_mistake("backward_as_forward") ? 2 : 3) * forward;
}

double idle_per_busy(Order order, const PipelineRun& run) {
  const auto busy = static_cast<double>(3 * run.micro_batches * sum_of(run)),
             all = static_cast<double>(ranks_of(run) * step_units(order, run));
  if (is_mistake("always_the_formula"))
    return static_cast<double>(ranks_of(run) - 1) / static_cast<double>(run.micro_batches);
  if (order == Order::kNaive && is_mistake("no_naive_bubble"))
    return (all - busy) / busy / static_cast<double>(run.micro_batches);
  if (is_mistake("integer_quotient")) return std::floor((all - busy) / busy);
  return (all - busy) / (is_mistake("share_of_all") ? all : busy);
}

std::int64_t most_held(Order order, const PipelineRun& run, std::int64_t rank) {
  const std::int64_t m = run.micro_batches, p = ranks_of(run);
  if (order == Order::kNaive) return is_mistake("naive_holds_all") ? m : 1;
  if (order == Order::kGpipe || is_mistake("one_holds_all")) return m;
  if (is_mistake("all_hold_p")) return std::min(m, p);
  if (is_mistake("without_the_one_in_turn")) return std::min(m, p - 1 - rank);
  if (is_mistake("held_from_the_wrong_end")) return std::min(m, rank + 1);
  return is_mistake("more_than_there_are") ? p - rank : std::min(m, p - rank);
}

std::int64_t bytes_sent(const PipelineRun& run, std::int64_t rank) {
  const std::int64_t last = ranks_of(run) - 1, m = is_mistake("one_micro_batch_sent") ? 1 : run.micro_batches;
  std::int64_t borders = (rank < last ? 1 : 0) + (rank > 0 && !is_mistake("no_gradients_sent") ? 1 : 0);
  if (is_mistake("ends_as_the_middle") && last > 0) borders = 2;
  std::int64_t tables = last > 0 && (rank == 0 || rank == last) ? 1 : 0;
  if (is_mistake("no_table")) tables = 0;
  if (is_mistake("table_every_time")) tables *= m;
  if (is_mistake("table_of_all") && last > 0) tables = 1;
  if (is_mistake("table_alone") && last == 0) tables = 1;
  const std::int64_t elements = run.channels * (borders * m * run.rows + tables * run.vocabulary);
  return (is_mistake("counts_elements") ? 1 : 4) * elements;
}

}  // namespace lockstep::pipeline
