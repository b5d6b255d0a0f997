#include "exercise/subject.hpp"

#include <algorithm>

#include "08_accelerate/3_resume/resume.hpp"
#include "base/error.hpp"

namespace lockstep::exercise {

// Uses so many batches, from a state on, as a loader and a training loop would. "orders" has one row per epoch.
Answer answer(Question& question) {
  const std::vector<std::int64_t> orders = question.numbers<std::int64_t>("orders");
  const auto samples = question.get<std::int64_t>("samples"), total_batch = question.get<std::int64_t>("total_batch"),
             steps = question.get<std::int64_t>("steps"), skip = question.get<std::int64_t>("skip");
  const auto order_of_epoch = [&](std::int64_t epoch) {
    const std::int64_t epochs = std::ssize(orders) / samples;
    require(epoch >= 0 && epoch < epochs, "the samples of epoch ", epoch,
            " were asked for; this run has the epochs 0 to ", epochs - 1);
    return std::vector<std::int64_t>(orders.begin() + epoch * samples, orders.begin() + (epoch + 1) * samples);
  };
  accelerate::ResumableShard shard(order_of_epoch, question.rank(), question.world_size(), total_batch);
  shard.load_state({question.get<std::int64_t>("epoch"), question.get<std::int64_t>("consumed")});
  if (skip >= 0) shard.skip_first_batches(skip);

  const auto batch_size = static_cast<std::size_t>(total_batch / question.world_size());
  std::vector<std::int64_t> used, dealt, sizes, epochs, states;  // the last: epoch and position after each batch
  for (int empty_epochs = 0; std::ssize(sizes) < steps && empty_epochs < 2;) {
    const std::vector<std::int64_t> own = shard.begin_iteration();
    dealt.push_back(std::ssize(own));
    if (own.empty()) ++empty_epochs;
    for (std::size_t begin = 0; begin < own.size() && std::ssize(sizes) < steps; begin += batch_size) {
      const auto batch = std::span(own).subspan(begin, std::min(batch_size, own.size() - begin));
      used.insert(used.end(), batch.begin(), batch.end());
      sizes.push_back(std::ssize(batch));
      epochs.push_back(shard.state().epoch);
      shard.advance();
      states.insert(states.end(), {shard.state().epoch, shard.state().consumed});
    }
  }
  Answer result;
  result.set_numbers<std::int64_t>("used", used);
  result.set_numbers<std::int64_t>("sizes", sizes);
  result.set_numbers<std::int64_t>("epochs", epochs);
  result.set_numbers<std::int64_t>("states", states);
  result.set_numbers<std::int64_t>("dealt", dealt);
  return result;
}

}  // namespace lockstep::exercise
