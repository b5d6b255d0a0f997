#include "exercise/alternatives.hpp"

#include <algorithm>

#include "11_pipeline_parallel/2_predict_bubbles/predictions.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"plays_the_step", "the passes of a step are played rank by rank, and idle time is added up"},
    {"counts_messages",
     "one micro-batch after another is followed through the ranks, in closed form where there is one"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {

using exercise::is_alternative;

namespace {

// One way through the ranks, there or back. `free` is when each rank can begin.
std::int64_t passed(std::vector<std::int64_t>& free, const PipelineRun& run, bool is_backward, std::int64_t begin) {
  const std::size_t ranks = run.forward_units.size();
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t rank = is_backward ? ranks - 1 - i : i;
    begin = std::max(begin, free[rank]) + (is_backward ? 2 : 1) * run.forward_units[rank];
    free[rank] = begin;
  }
  return begin;
}

// 1F1B takes as long as GPipe if all ranks are equal, which they are then.
std::int64_t played(Order order, const PipelineRun& run) {
  std::vector<std::int64_t> free(run.forward_units.size());
  std::int64_t end = 0;
  if (order == Order::kNaive) {
    for (std::int64_t i = 0; i < run.micro_batches; ++i)
      for (const bool is_backward : {false, true}) end = passed(free, run, is_backward, end);
    return end;
  }
  for (const bool is_backward : {false, true})
    for (std::int64_t i = 0; i < run.micro_batches; ++i) end = passed(free, run, is_backward, 0);
  return end;
}

std::int64_t in_closed_form(Order order, const PipelineRun& run) {
  std::int64_t way = 0, slowest = 0;
  for (const std::int64_t units : run.forward_units) {
    way += units + 2 * units;
    slowest = std::max(slowest, units + 2 * units);
  }
  return way + (run.micro_batches - 1) * (order == Order::kNaive ? way : slowest);
}

}  // namespace

std::int64_t step_units(Order order, const PipelineRun& run) {
  return is_alternative("plays_the_step") ? played(order, run) : in_closed_form(order, run);
}

double idle_per_busy(Order order, const PipelineRun& run) {
  double idle = 0, busy = 0;
  for (const std::int64_t units : run.forward_units) {
    const auto own = static_cast<double>(3 * units * run.micro_batches);
    idle += static_cast<double>(step_units(order, run)) - own;
    busy += own;
  }
  return idle / busy;
}

std::int64_t most_held(Order order, const PipelineRun& run, std::int64_t rank) {
  switch (order) {
    case Order::kNaive:
      return 1;
    case Order::kGpipe:
      return run.micro_batches;
    case Order::kOneForwardOneBackward:
      break;
  }
  return run.micro_batches + rank < std::ssize(run.forward_units) ? run.micro_batches
                                                                  : std::ssize(run.forward_units) - rank;
}

std::int64_t bytes_sent(const PipelineRun& run, std::int64_t rank) {
  const std::int64_t ranks = std::ssize(run.forward_units), floats = run.channels * run.rows;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < run.micro_batches; ++i) {
    if (rank + 1 < ranks) bytes += 4 * floats;  // output
    if (rank > 0) bytes += 4 * floats;          // gradient
  }
  if (ranks > 1 && rank % (ranks - 1) == 0) bytes += 4 * run.channels * run.vocabulary;
  return bytes;
}

}  // namespace lockstep::pipeline
