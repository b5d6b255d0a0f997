#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "06_gpt_ddp/6_accumulation/accumulation.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"equal_weights", "all parts of a rank have the same weight, however many targets they have",
     "A part's loss is a mean over its own targets: how many of them does it stand for?"},
    {"mean_of_ranks", "parts are weighed by their share of their own rank's targets, and then the ranks are averaged",
     "A rank with few targets then counts as much as one with many. Divide by the targets of all ranks."},
    {"no_weights", "the parts' gradients are added up without weights",
     "The result is as many times too large as there are parts. What do all weights have to add up to?"},
    {"averages_twice", "the weights are shares of all targets already, and the sum is divided by the ranks once more",
     "The weights of all parts of all ranks add up to 1: nothing is left to divide."},
    {"sends_every_part", "the gradient is sent after each part instead of once at the end",
     "Add up locally, and call all_reduce() after the loop."},
    {"leaves_without_parts", "a rank without parts returns before the collectives that the others are in",
     "It contributes zeros, but it has to make the same calls as the others."},
    {"own_loss", "each rank returns its own part of the loss", "The loss is a sum over the ranks as well."},
    {"divides_by_no_targets", "if no rank has a target, 0 is divided by 0",
     "NaN in a gradient ends up in every parameter. Divide by at least 1."},
    {"own_targets_only", "the weight of a part is its share of its own rank's targets, and the ranks are added up",
     "The weights of all parts of all ranks have to add up to 1: ask the others for their targets."},
    {"targets_as_weights", "the weight of a part is its number of targets, not its share of them",
     "Divide by the targets of all ranks."},
    {"integer_division", "the weight is a quotient of two integers, which is 0", "Divide doubles."},
    {"never_sends", "the gradient is not sent at all", "Each rank has a part of the sum only: all_reduce() adds them."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {
namespace {

using exercise::is_mistake;

double weight_of(const MicroBatch& part, std::size_t parts, double own_targets, double all_targets, double ranks) {
  const auto targets = static_cast<double>(part.target_count);
  if (is_mistake("equal_weights")) return 1 / static_cast<double>(parts) / ranks;
  if (is_mistake("mean_of_ranks")) return targets / std::max(own_targets, 1.0) / ranks;
  if (is_mistake("no_weights")) return 1;
  if (is_mistake("own_targets_only")) return targets / std::max(own_targets, 1.0);
  if (is_mistake("targets_as_weights")) return targets;
  if (is_mistake("integer_division")) return std::floor(targets / std::max(all_targets, 1.0));
  if (is_mistake("averages_twice")) return targets / std::max(all_targets, 1.0) / ranks;
  return targets / (is_mistake("divides_by_no_targets") ? all_targets : std::max(all_targets, 1.0));
}

// Each part's gradient alone is sent, and added to those that all ranks have added up already.
double send_every_part(std::span<const MicroBatch> parts, Replica& replica, Collectives& group, double divisor) {
  const auto ranks = static_cast<float>(group.world_size());
  double loss = 0;
  for (const MicroBatch& part : parts) {
    const double weight = static_cast<double>(part.target_count) / divisor;
    for (float& value : replica.gradient()) value /= ranks;  // all ranks have it, and it is added up once more
    loss += weight * replica.backward(part, weight);
    group.all_reduce(replica.gradient()).synchronize();
  }
  return loss;
}

}  // namespace

double accumulate_step(std::span<const MicroBatch> parts, Replica& replica, Collectives& group) {
  if (parts.empty() && is_mistake("leaves_without_parts")) return 0;
  std::int64_t own = 0;
  for (const MicroBatch& part : parts) own += part.target_count;
  const std::vector<std::int64_t> targets = group.gather_rows(std::span<const std::int64_t>(&own, 1));
  const auto all = static_cast<double>(std::accumulate(targets.begin(), targets.end(), std::int64_t{0}));
  double own_loss = 0;
  if (is_mistake("sends_every_part")) {
    own_loss = send_every_part(parts, replica, group, std::max(all, 1.0));
  } else {
    for (const MicroBatch& part : parts) {
      const double weight =
          weight_of(part, parts.size(), static_cast<double>(own), all, static_cast<double>(group.world_size()));
      own_loss += weight * replica.backward(part, weight);
    }
    if (!is_mistake("never_sends")) group.all_reduce(replica.gradient()).synchronize();
  }
  auto loss = static_cast<float>(own_loss);
  if (!is_mistake("own_loss")) group.all_reduce(std::span(&loss, 1)).synchronize();
  return loss;
}

}  // namespace lockstep::ddp
