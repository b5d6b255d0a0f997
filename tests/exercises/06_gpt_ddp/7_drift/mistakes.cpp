#include <algorithm>
#include <numeric>

#include "06_gpt_ddp/7_drift/drift.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"compares_sums", "tensors are compared by their sums, which are equal for many different tensors",
     "fingerprint() looks at every bit and its place."},
    {"only_rank_0_looks", "rank 0 compares, and the other ranks return nothing",
     "All ranks hold the table after gather_rows(): let all of them look."},
    {"rank_by_rank",
     "the ranks are gone through one by one, so another tensor is named if a low rank differs in a later one",
     "The outer loop is over the tensors, the inner one over the ranks."},
    {"own_mean", "the running mean follows the inputs of this rank alone",
     "Nothing averages a buffer for you. Average what goes into it."},
    {"averages_mean_too_late",
     "the gradient is computed with the mean of this rank's inputs; the means are averaged afterwards",
     "The replicas stay equal, but a single process subtracts the mean of all inputs: average it before the gradient."},
    {"own_noise", "each rank adds noise of its own to the averaged gradient",
     "The rank must not be in the seed of anything that all replicas have in common."},
    {"own_loss_decides", "each rank decides by its own loss whether to take the step",
     "Average the loss before it is compared with the limit."},
    {"leaves_early", "a rank that leaves out the step returns before a collective that the others are in",
     "First all collectives of the step, then the decision."},
    {"rank_0_wins",
     "rank 0's replica is copied to all others after each step, so what the other ranks have seen is lost",
     "The replicas are equal then, but a single process would have counted all samples."},
    {"compares_neighbours", "each rank is compared with the next one, and the first of the two is named",
     "The rank to name is the lowest that differs from rank 0."},
    {"table_transposed", "the table is read as if all ranks' numbers for a tensor stood side by side",
     "Rank r's row begins at r * tensors.size()."},
    {"takes_noise_out", "the noise has been taken out, so the replicas are equal, but nothing gets out of bad minima",
     "The noise is to stay, and to be the same on all ranks."},
    {"leaves_out_at_limit", "a step whose loss equals the limit is left out",
     "A step is left out if its loss exceeds the limit: compare with >."},
    {"limit_for_sum", "the sum of all ranks' losses is compared with the limit", "Divide the sum before you compare."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {
namespace {

using exercise::is_mistake;

std::int64_t identify(std::span<const float> tensor) {
  if (!is_mistake("compares_sums")) return fingerprint(tensor);
  return fingerprint(std::vector<float>{std::accumulate(tensor.begin(), tensor.end(), 0.0F)});
}

// Whether a tensor of this rank is not what it should be.
bool differ(std::span<const std::int64_t> table, std::size_t tensors, int ranks, std::size_t tensor, int rank) {
  const auto number = static_cast<std::size_t>(rank);
  if (is_mistake("table_transposed")) {
    const std::size_t row = tensor * static_cast<std::size_t>(ranks);
    return table[row + number] != table[row];
  }
  const std::size_t other = is_mistake("compares_neighbours") ? number - 1 : 0;
  return table[number * tensors + tensor] != table[other * tensors + tensor];
}

std::optional<Drift> first_difference(std::span<const std::int64_t> table, std::size_t tensors, int ranks) {
  std::vector<Drift> drifts;
  for (std::size_t tensor = 0; tensor < tensors; ++tensor)
    for (int rank = 1; rank < ranks; ++rank)
      if (differ(table, tensors, ranks, tensor, rank))
        drifts.push_back({tensor, is_mistake("compares_neighbours") ? rank - 1 : rank});
  if (is_mistake("rank_by_rank")) std::ranges::stable_sort(drifts, {}, &Drift::rank);
  return drifts.empty() ? std::nullopt : std::optional(drifts.front());
}

void average(std::span<float> values, Collectives& group) {
  group.all_reduce(values).synchronize();
  for (float& value : values) value /= static_cast<float>(group.world_size());
}

}  // namespace

std::optional<Drift> find_drift(std::span<const std::span<const float>> tensors, Collectives& group) {
  std::vector<std::int64_t> row;
  for (const std::span<const float> tensor : tensors) row.push_back(identify(tensor));
  const std::vector<std::int64_t> table = group.gather_rows(row);
  if (is_mistake("only_rank_0_looks") && group.rank() != 0) return std::nullopt;
  return first_difference(table, row.size(), group.world_size());
}

namespace {

float faulty_step(Replica& replica, const Share& share, const StepOptions& options, Collectives& group) {
  const std::size_t features = replica.weight.size();
  const bool copies = is_mistake("rank_0_wins");
  std::vector<float> mean = mean_of_inputs(share, features);
  const bool is_late = is_mistake("averages_mean_too_late");
  if (!is_mistake("own_mean") && !copies && !is_late) average(mean, group);
  for (std::size_t i = 0; i < features; ++i) replica.running_mean[i] = 0.9F * replica.running_mean[i] + 0.1F * mean[i];
  auto [loss, gradient] = loss_and_gradient(replica, share);
  if (is_late) average(replica.running_mean, group);
  const float own_loss = loss;
  if (is_mistake("leaves_early") && own_loss > options.loss_limit) return own_loss;
  average(gradient, group);
  if (!is_mistake("own_loss_decides")) average(std::span(&loss, 1), group);
  const float compared = loss * static_cast<float>(is_mistake("limit_for_sum") ? group.world_size() : 1);
  if (compared > options.loss_limit) return loss;
  if (is_mistake("leaves_out_at_limit") && compared == options.loss_limit) return loss;
  const int rank = is_mistake("own_noise") || copies ? group.rank() : 0;
  PhiloxSequence random(options.seed + static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(options.step));
  for (std::size_t i = 0; i < features; ++i) {
    const float noise =
        (is_mistake("takes_noise_out") ? 0 : options.noise) * (uniform_float(random.next_word()) - 0.5F);
    replica.weight[i] -= options.learning_rate * (gradient[i] + noise);
  }
  return loss;
}

}  // namespace

float train_step(Replica& replica, const Share& share, const StepOptions& options, Collectives& group) {
  const float loss = faulty_step(replica, share, options, group);
  if (is_mistake("rank_0_wins")) {
    group.broadcast(replica.weight, 0).synchronize();
    group.broadcast(replica.running_mean, 0).synchronize();
  }
  return loss;
}

}  // namespace lockstep::ddp
