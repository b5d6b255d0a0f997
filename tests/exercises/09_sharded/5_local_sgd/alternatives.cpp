#include "exercise/alternatives.hpp"

#include <algorithm>

#include "09_sharded/5_local_sgd/local_sgd.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"in_rounds", "a loop over rounds of at most `interval` steps, each of which ends with an average"},
    {"divides_first", "values are divided before they are sent"},
    {"alone_sends_nothing", "one rank by itself issues no collective"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_alternative;

void train_locally(LocalModel& model, std::int64_t steps, std::int64_t interval, Collectives& group) {
  if (is_alternative("alone_sends_nothing") && group.world_size() == 1) {
    while (steps-- > 0) model.step();
    return;
  }
  Work work = group.broadcast(model.values(), 0);
  work.synchronize();
  const float share = 1 / static_cast<float>(group.world_size());
  const auto scale = [&] {
    for (float& value : model.values()) value *= share;
  };
  while (steps > 0) {
    const std::int64_t round = std::min(steps, interval);
    for (std::int64_t step = 0; step < round; ++step) model.step();
    steps -= round;
    if (is_alternative("divides_first")) scale();
    group.all_reduce(model.values()).synchronize();
    if (!is_alternative("divides_first")) scale();
  }
}

}  // namespace lockstep::sharded
