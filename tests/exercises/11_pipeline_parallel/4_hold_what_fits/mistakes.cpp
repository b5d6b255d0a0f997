#include <algorithm>
#include <set>

#include "../played_schedule.hpp"
#include "11_pipeline_parallel/4_hold_what_fits/hold_what_fits.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"outputs_kept", "an output is kept until its backward pass",
     "Its elements have been sent, and backward does not read them."},
    {"input_let_go", "the input is let go after the forward pass",
     "It is the leaf whose gradient goes back, and the first layer's backward reads it."},
    {"freed_too_early", "what is held is freed before the backward pass", "The backward pass reads it."},
    {"gradients_of_each", "each micro-batch has gradients of the weights of its own",
     "Backward adds to the one buffer of the stage."},
    {"gradients_from_the_start", "the gradients of the weights are there from the first action on",
     "Before the first backward pass there are none."},
    {"gradients_only_in_backward", "the gradients of the weights are freed after each backward pass",
     "The next backward pass adds to them, and the optimizer reads them after the list."},
    {"no_output_gradient", "the gradient of the output is left out", "It arrives before the backward pass computes."},
    {"no_input_gradient", "the gradient of the input is left out", "The stage before waits for it."},
    {"input_gradient_kept", "the gradient of the input is kept after it was sent",
     "Let go of the leaf with its micro-batch: its gradient goes with it."},
    {"evaluation_holds", "passes that do not come back are held", "Without a backward pass nothing has to be saved."},
    {"after_the_pass", "what is there after each action is counted, not during it",
     "A pass needs most while it computes."},
    {"most_so_far", "the largest number so far is returned, not that of each action",
     "The peak is the maximum of the numbers, and easy to take from them."},
    {"only_what_is_held", "the budget is divided by what a micro-batch holds",
     "A pass needs more than that: outputs, gradients."},
    {"as_forward_needs", "as many are taken as fit during a forward pass",
     "A backward pass has two gradients besides."},
    {"no_weight_gradients", "the gradients of the weights are not counted", "They need room as well."},
    {"rounds_up", "the number is rounded up", "The last one would not fit whole."},
    {"less_than_none", "less than 0 fit", "Nothing fits: 0."},
    {"output_for_each", "an output is counted for each micro-batch", "It is gone when it has been sent."},
    {"never_full", "a pass that needs exactly the budget is refused", "It fits."},
    {"in_turn", "after fewer forward passes at the beginning, one forward and one backward pass come in turn",
     "A rank waits for a forward pass while a gradient is there: which of the two can be done first?"},
    {"in_groups", "micro-batches go in groups, all forward, then all back, as in GPipe",
     "The next forward pass can begin when one micro-batch is back. And near the end a rank needs to hold less."},
    {"group_after_group", "micro-batches go in groups, and the next group waits for all of the one before",
     "The next forward pass can begin when one micro-batch is back."},
    {"ignores_limits", "the limits are not looked at: these are the lists of 1F1B", "Rank 0 holds p micro-batches."},
    {"one_too_many", "a rank holds one more than it may", "The one that it computes counts, too."},
    {"one_at_a_time", "a rank holds one micro-batch, although more fit", "The others wait for it all the time."},
    {"as_many_as_fit", "a rank holds as many as fit, although it needs fewer",
     "A micro-batch is back at rank r after 3 (p - r) units. How many begin in this time?"},
    {"smallest_limit", "every rank keeps to the smallest of the limits", "The ranks before may hold more."},
    {"limit_of_rank_0", "every rank keeps to the limit of rank 0", "Each has its own."},
    {"more_than_there_are", "there are more micro-batches than the step has", "With little to do a rank stops early."},
    {"newest_first", "the micro-batch that came last goes back first", "Gradients come in the order 0, 1, 2, ..."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {
namespace {

using exercise::is_mistake;
using exercise::PlayedSchedule;
using exercise::Prefer;

// Held after the forward pass of a micro-batch that comes back.
std::int64_t kept_of(const StageBytes& bytes) {
  return bytes.saved + (is_mistake("input_let_go") ? 0 : bytes.input) + (is_mistake("outputs_kept") ? bytes.output : 0);
}

// A rank that goes through its list.
class Counted {
 public:
  Counted(std::span<const Action> actions, const StageBytes& bytes) : bytes_(bytes) {
    for (const Action& action : actions)
      if (action.pass == Pass::kBackward) comes_back_.insert(action.micro_batch);
    if (is_mistake("gradients_from_the_start")) gradients_ = bytes.weight_gradients;
  }

  std::int64_t forward(int micro_batch) {
    const bool is_held = comes_back_.contains(micro_batch) || is_mistake("evaluation_holds");
    const std::int64_t before = kept_, during = bytes_.input + (is_held ? bytes_.saved : 0) + bytes_.output;
    if (is_held) kept_ += kept_of(bytes_);
    return gradients_now(false) + (is_mistake("after_the_pass") ? kept_ : before + during);
  }

  std::int64_t backward() {
    gradients_ = bytes_.weight_gradients * (is_mistake("gradients_of_each") ? ++backwards_ : 1);
    const std::int64_t during =
        (is_mistake("no_output_gradient") ? 0 : bytes_.output) + (is_mistake("no_input_gradient") ? 0 : bytes_.input);
    const std::int64_t before = kept_;
    kept_ -= kept_of(bytes_);
    const std::int64_t sum = gradients_now(true) + (is_mistake("freed_too_early") ? kept_ : before) + during;
    if (is_mistake("after_the_pass")) return gradients_now(true) + kept_;
    if (is_mistake("input_gradient_kept")) kept_ += bytes_.input;
    return sum;
  }

 private:
  [[nodiscard]] std::int64_t gradients_now(bool is_backward) const {
    return is_mistake("gradients_only_in_backward") && !is_backward ? 0 : gradients_;
  }

  StageBytes bytes_;
  std::set<int> comes_back_;
  std::int64_t kept_ = 0, gradients_ = 0, backwards_ = 0;
};

// 1F1B with `most_held` micro-batches on each rank, of `count` of them.
void append_in_turn(Schedule& schedule, std::span<const int> most_held, int first, int count) {
  for (std::size_t rank = 0; rank < schedule.size(); ++rank) {
    const int lead = std::min(count, most_held[rank] - 1);
    for (int i = 0; i < count + lead; ++i) {
      if (i < count) schedule[rank].push_back({Pass::kForward, static_cast<int>(rank), first + i});
      if (i >= lead) schedule[rank].push_back({Pass::kBackward, static_cast<int>(rank), first + i - lead});
    }
  }
}

Schedule in_groups(int micro_batches, std::span<const int> most_held, std::span<const int> limits) {
  Schedule schedule(most_held.size());
  const int group = std::min(micro_batches, std::ranges::min(most_held));
  const std::vector<int> all(most_held.size(), group);
  for (int first = 0; first < micro_batches; first += group) {
    const int count = std::min(group, micro_batches - first);
    if (is_mistake("group_after_group")) {
      append_in_turn(schedule, limits, first, count);
      continue;
    }
    for (std::size_t rank = 0; rank < schedule.size(); ++rank)
      for (const Pass pass : {Pass::kForward, Pass::kBackward})
        for (int i = 0; i < count; ++i) schedule[rank].push_back({pass, static_cast<int>(rank), first + i});
  }
  return schedule;
}

std::vector<int> wrong_limits(std::span<const int> most_held) {
  std::vector<int> limits(most_held.begin(), most_held.end());
  for (int& limit : limits) {
    if (is_mistake("ignores_limits")) limit = static_cast<int>(limits.size());
    if (is_mistake("one_too_many")) ++limit;
    if (is_mistake("one_at_a_time")) limit = 1;
    if (is_mistake("smallest_limit")) limit = std::ranges::min(most_held);
    if (is_mistake("limit_of_rank_0")) limit = most_held.front();
  }
  return is_mistake("as_many_as_fit") ? limits : exercise::limits_of(limits);
}

// The last of the micro-batches that it has goes back.
void turn_around(std::vector<Action>& actions) {
  std::vector<int> held;
  for (auto& [pass, stage, micro_batch] : actions) {
    if (pass == Pass::kForward) {
      held.push_back(micro_batch);
    } else {
      micro_batch = held.back();
      held.pop_back();
    }
  }
}

}  // namespace

std::vector<std::int64_t> bytes_during(std::span<const Action> actions, const StageBytes& bytes) {
  Counted counted(actions, bytes);
  std::vector<std::int64_t> result;
  for (const Action& action : actions) {
    const std::int64_t sum = action.pass == Pass::kForward ? counted.forward(action.micro_batch) : counted.backward();
    const std::int64_t before = result.empty() ? 0 : result.back();
    result.push_back(is_mistake("most_so_far") ? std::max(before, sum) : sum);
  }
  return result;
}

int most_that_fit(const StageBytes& bytes, std::int64_t budget) {
  std::int64_t besides = bytes.weight_gradients + bytes.output + bytes.input, each = bytes.input + bytes.saved;
  if (is_mistake("only_what_is_held")) besides = 0;
  if (is_mistake("as_forward_needs")) besides = bytes.weight_gradients + bytes.output;
  if (is_mistake("no_weight_gradients")) besides = bytes.output + bytes.input;
  if (is_mistake("never_full")) ++besides;
  if (is_mistake("output_for_each")) each += bytes.output;
  if (is_mistake("rounds_up")) besides -= each - 1;
  const std::int64_t room = budget - besides;
  if (is_mistake("less_than_none")) return static_cast<int>(room / each);
  return room < 0 ? 0 : static_cast<int>(room / each);
}

Schedule schedule_within(int micro_batches, std::span<const int> most_held) {
  const std::vector<int> limits = wrong_limits(most_held);
  if (is_mistake("in_groups") || is_mistake("group_after_group")) return in_groups(micro_batches, most_held, limits);
  if (is_mistake("in_turn")) {
    Schedule schedule(most_held.size());
    append_in_turn(schedule, limits, 0, micro_batches);
    return schedule;
  }
  const int count = is_mistake("more_than_there_are") ? std::max(micro_batches, most_held.front()) : micro_batches;
  Schedule schedule = PlayedSchedule(count, limits, Prefer::kBackward, 2).schedule();
  if (is_mistake("newest_first"))
    for (std::vector<Action>& actions : schedule) turn_around(actions);
  return schedule;
}

}  // namespace lockstep::pipeline
