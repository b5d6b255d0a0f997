#include <algorithm>

#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"all_forward_first", "all forward passes come first, as in GPipe",
     "A backward pass can begin as soon as its gradient is there: then the rank holds one micro-batch less."},
    {"one_at_a_time", "every rank does a forward pass and its backward pass, and only then the next forward pass",
     "Rank 0 waits until the micro-batch has passed all other ranks twice. What could it do in that time?"},
    {"lead_from_the_wrong_end", "rank r does r forward passes first, so rank 0 does none",
     "Rank 0 waits longest for its first gradient, and the last rank does not wait."},
    {"one_too_many", "a rank does one forward pass more than it needs before its first backward pass",
     "The last rank can do B0 right after F0."},
    {"one_too_few", "a rank does one forward pass less than it needs before its first backward pass",
     "Rank r is p - 1 - r ranks away from the end of the pipeline."},
    {"same_lead_everywhere", "every rank does as many forward passes first as rank 0",
     "A rank nearer to the end waits a shorter time for its first gradient."},
    {"more_than_there_are", "a rank takes more micro-batches at the beginning than there are",
     "With 4 ranks and 2 micro-batches rank 0 would begin with 3 forward passes."},
    {"forgets_the_rest", "the backward passes that are left at the end are missing",
     "After the last forward pass a rank still holds micro-batches."},
    {"backward_first", "in turn, the backward pass comes before the forward pass",
     "Then a rank waits for a gradient while it has one forward pass less behind it. Which does the last rank do "
     "first?"},
    {"newest_first", "the micro-batch that came last goes back first",
     "The ranks after this one have not done its forward pass yet: its gradient comes last, not first."},
    {"twice_the_way", "a rank does two forward passes for each rank after it, there and back",
     "That many make the step no shorter, and the rank holds more."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {
namespace {

using exercise::is_mistake;

int lead_of(int rank, int ranks, int micro_batches) {
  int lead = ranks - 1 - rank;
  if (is_mistake("all_forward_first")) lead = micro_batches;
  if (is_mistake("one_at_a_time")) lead = 0;
  if (is_mistake("lead_from_the_wrong_end")) lead = rank;
  if (is_mistake("one_too_many")) ++lead;
  if (is_mistake("one_too_few")) lead = std::max(0, lead - 1);
  if (is_mistake("same_lead_everywhere")) lead = ranks - 1;
  if (is_mistake("twice_the_way")) lead *= 2;
  return is_mistake("more_than_there_are") ? lead : std::min(lead, micro_batches);
}

// The backward passes in their order.
int backward_at(int place, int lead, int micro_batches) {
  if (!is_mistake("newest_first")) return place;
  const int newest = place + lead;  // of those that have been forward
  return newest < micro_batches ? newest : micro_batches - 1 - place;
}

std::vector<Action> actions_of(int rank, int ranks, int micro_batches) {
  const int lead = lead_of(rank, ranks, micro_batches);
  std::vector<Action> actions;
  for (int i = 0; i < lead; ++i) actions.push_back({Pass::kForward, rank, i});
  for (int i = lead; i < micro_batches; ++i) {
    const Action forward{Pass::kForward, rank, i},
        backward{Pass::kBackward, rank, backward_at(i - lead, lead, micro_batches)};
    actions.push_back(is_mistake("backward_first") ? backward : forward);
    actions.push_back(is_mistake("backward_first") ? forward : backward);
  }
  if (is_mistake("forgets_the_rest")) return actions;
  for (int i = std::max(0, micro_batches - lead); i < micro_batches; ++i)
    actions.push_back({Pass::kBackward, rank, backward_at(i, lead, micro_batches)});
  return actions;
}

}  // namespace

Schedule one_forward_one_backward(int ranks, int micro_batches) {
  Schedule schedule;
  for (int rank = 0; rank < ranks; ++rank) schedule.push_back(actions_of(rank, ranks, micro_batches));
  return schedule;
}

}  // namespace lockstep::pipeline
