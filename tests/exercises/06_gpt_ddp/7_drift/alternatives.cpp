#include "exercise/alternatives.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "06_gpt_ddp/7_drift/drift.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"averages_buffer", "the running mean itself is averaged, and the tables are searched from the back"},
    {"one_message", "loss, gradient and mean of the inputs are averaged by one all-reduce; nothing is returned early"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

std::optional<Drift> find_drift(std::span<const std::span<const float>> tensors, Collectives& group) {
  std::vector<std::int64_t> row(tensors.size());
  std::ranges::transform(tensors, row.begin(), fingerprint);
  const std::vector<std::int64_t> all = group.gather_rows(row);
  std::optional<Drift> found;
  for (std::size_t tensor = row.size(); tensor-- > 0;)
    for (int rank = group.world_size() - 1; rank > 0; --rank)
      if (all[static_cast<std::size_t>(rank) * row.size() + tensor] != all[tensor]) found = Drift{tensor, rank};
  return found;
}

float train_step(Replica& replica, const Share& share, const StepOptions& options, Collectives& group) {
  const std::size_t features = replica.weight.size();
  const auto average = [&](std::span<float> values) {
    group.all_reduce(values).synchronize();
    for (float& value : values) value /= static_cast<float>(group.world_size());
  };
  std::vector<float> mean = mean_of_inputs(share, features);
  if (!is_alternative("averages_buffer")) average(mean);
  for (std::size_t i = 0; i < features; ++i) replica.running_mean[i] += 0.1F * (mean[i] - replica.running_mean[i]);
  if (is_alternative("averages_buffer")) average(replica.running_mean);
  auto [loss, gradient] = loss_and_gradient(replica, share);
  gradient.push_back(loss);
  average(gradient);
  const float rate = gradient.back() > options.loss_limit ? 0 : options.learning_rate;
  PhiloxSequence random(options.seed, static_cast<std::uint64_t>(options.step));
  for (std::size_t i = 0; i < features; ++i) {
    const float noise = options.noise * (uniform_float(random.next_word()) - 0.5F);
    if (rate != 0) replica.weight[i] -= rate * (gradient[i] + noise);
  }
  return gradient.back();
}

}  // namespace lockstep::ddp
