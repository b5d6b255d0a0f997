#include "exercise/alternatives.hpp"

#include <vector>

#include "06_gpt_ddp/6_accumulation/accumulation.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"weighs_by_targets",
     "parts are weighted with their targets and the sum is divided when the gradient is there, so nobody has to ask "
     "before the first backward"},
    {"sums_floats", "targets and loss are added by all-reduces of one float, and parts without targets are left out"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

double accumulate_step(std::span<const MicroBatch> parts, Replica& replica, Collectives& group) {
  double own = 0, loss = 0;
  for (const MicroBatch& part : parts) own += static_cast<double>(part.target_count);
  if (is_alternative("weighs_by_targets")) {
    for (const MicroBatch& part : parts) {
      const auto targets = static_cast<double>(part.target_count);
      loss += targets * replica.backward(part, targets);
    }
    group.all_reduce(replica.gradient()).synchronize();
    std::vector<float> sums = {static_cast<float>(own), static_cast<float>(loss)};
    group.all_reduce(sums).synchronize();
    for (float& value : replica.gradient()) value = sums[0] == 0 ? 0 : value / sums[0];
    return sums[0] == 0 ? 0 : double{sums[1]} / sums[0];
  }
  auto all = static_cast<float>(own);
  group.all_reduce({&all, 1}).synchronize();
  if (all == 0) return 0;  // on every rank
  for (const MicroBatch& part : parts) {
    if (part.target_count == 0) continue;
    const double weight = static_cast<double>(part.target_count) / all;
    loss += weight * replica.backward(part, weight);
  }
  auto sum = static_cast<float>(loss);
  group.all_reduce({&sum, 1}).synchronize();
  group.all_reduce(replica.gradient()).synchronize();
  return sum;
}

}  // namespace lockstep::ddp
