#include "08_accelerate/1_accumulate/accumulate.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"sends_every_micro_batch", "the gradients are averaged after every micro-batch instead of once per window",
     "The result is the same, but a window of 4 costs 4 times the traffic. Send only with sync_gradients()."},
    {"steps_every_micro_batch",
     "the optimizer updates after every micro-batch, with gradients that are not averaged yet",
     "step() does something at the end of a window only."},
    {"clears_every_micro_batch", "zero_grad() clears after every micro-batch, so only the last one of a window counts",
     "When do earlier gradients of the window still have to be there?"},
    {"clears_before_the_last", "zero_grad() clears whenever sync_gradients() is true, also before the last backward",
     "At that moment the gradients of the window's other micro-batches are waiting. Has an update used them?"},
    {"never_clears", "gradients that an update has used stay, and are added to the next window",
     "Which of the functions knows that the gradients are not needed any more? It has to note that."},
    {"no_weight", "the gradients of a window are added up without being divided by its micro-batches",
     "The gradient of a step is a mean: what is the weight of one of N micro-batches?"},
    {"weight_of_short_window", "a short window is divided by its own number of micro-batches",
     "All micro-batches have the weight 1 / gradient_accumulation_steps, so that all samples count alike."},
    {"sums", "the sum over the ranks is not divided by their number",
     "all_reduce() adds; the mean is the sum / world_size()."},
    {"ignores_last_batch", "a window goes on in the next epoch if the last batch does not fill it",
     "A window also ends with the last batch of an epoch."},
    {"counts_over_epochs", "after a short window the next one is short as well, for the count goes on",
     "Each window begins with 0 micro-batches, whatever ended the one before."},
    {"weight_so_far", "the weight is 1 / (micro-batches of the window so far)",
     "All micro-batches have the same weight, 1 / gradient_accumulation_steps."},
    {"clears_after_the_first", "zero_grad() clears when the window has one micro-batch",
     "After step() that clears the first gradient of the window, not those that an update has used."},
    {"divides_twice", "the gradient is divided by the micro-batches once as a weight and once at the window's end",
     "The weight 1 / gradient_accumulation_steps is all: what is left is the mean over the ranks."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {

using exercise::is_mistake;

void GradientAccumulator::accumulate(bool is_last_batch) {
  if (is_mistake("counts_over_epochs")) {
    sync_gradients_ = ++micro_batches_ % steps_ == 0 || is_last_batch;
    return;
  }
  if (sync_gradients_) micro_batches_ = 0;
  ++micro_batches_;
  sync_gradients_ = micro_batches_ == steps_ || (is_last_batch && !is_mistake("ignores_last_batch"));
}

void GradientAccumulator::backward(std::int64_t micro_batch) {
  double weight = is_mistake("no_weight") ? 1.0 : 1.0 / static_cast<double>(steps_);
  if (is_mistake("weight_so_far")) weight = 1.0 / static_cast<double>(micro_batches_);
  replica_.backward(micro_batch, weight);
  is_update_due_ = true;
  if (sync_gradients_ && is_mistake("weight_of_short_window"))
    for (float& value : replica_.gradient()) value *= static_cast<float>(steps_) / static_cast<float>(micro_batches_);
  if (!sync_gradients_ && !is_mistake("sends_every_micro_batch")) return;
  group_.all_reduce(replica_.gradient()).synchronize();
  if (is_mistake("sums")) return;
  const auto again = static_cast<float>(is_mistake("divides_twice") ? steps_ : 1);
  for (float& value : replica_.gradient()) value /= again * static_cast<float>(group_.world_size());
}

void GradientAccumulator::zero_grad() {
  if (is_mistake("clears_after_the_first")) {
    if (micro_batches_ == 1) replica_.zero_grad();
    return;
  }
  if (is_mistake("clears_before_the_last") ? sync_gradients_
                                           : !is_update_due_ || is_mistake("clears_every_micro_batch"))
    replica_.zero_grad();
}

void GradientAccumulator::step() {
  if (!sync_gradients_ && !is_mistake("steps_every_micro_batch")) return;
  replica_.step();
  is_update_due_ = is_mistake("never_clears") || (is_mistake("steps_every_micro_batch") && !sync_gradients_);
}

}  // namespace lockstep::accelerate
