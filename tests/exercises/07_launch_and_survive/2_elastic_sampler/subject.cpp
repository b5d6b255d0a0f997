#include "exercise/subject.hpp"

#include <algorithm>

#include "07_launch_and_survive/2_elastic_sampler/elastic_sampler.hpp"
#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

// "orders" has one row per epoch.
struct OrderOfEpoch {
  std::vector<std::int64_t> orders;
  std::int64_t samples;

  std::vector<std::int64_t> operator()(std::int64_t epoch) const {
    const std::int64_t epochs = std::ssize(orders) / samples;
    require(epoch >= 0 && epoch < epochs, "the samples of epoch ", epoch,
            " were asked for; this run has the epochs 0 to ", epochs - 1);
    return {orders.begin() + epoch * samples, orders.begin() + (epoch + 1) * samples};
  }
};

}  // namespace

// Uses so many batches, from a state on, as a loader and a training loop would.
Answer answer(Question& question) {
  const std::vector<std::int64_t> orders = question.numbers<std::int64_t>("orders");
  const auto samples = question.get<std::int64_t>("samples"), steps = question.get<std::int64_t>("steps");
  const bool wants_scale = question.get<bool>("wants_scale");
  elastic::ElasticShard sampler(OrderOfEpoch{orders, samples}, question.rank(), question.world_size(),
                                {.dataset_size = samples,
                                 .global_batch_size = question.get<std::int64_t>("global_batch"),
                                 .keeps_short_batch = question.get<bool>("keeps_short_batch")});
  sampler.load_state({question.get<std::int64_t>("epoch"), question.get<std::int64_t>("consumed")});

  std::vector<std::int64_t> used, shares, sizes, states;
  std::vector<double> scales;
  std::int64_t surplus = 0;  // samples of indices() that no batch of their epoch used
  while (std::ssize(shares) < steps) {
    const std::int64_t epoch = sampler.state().epoch;
    const std::vector<std::int64_t> own = sampler.indices();
    for (std::int64_t at = 0; std::ssize(shares) < steps && sampler.state().epoch == epoch;) {
      const std::int64_t share = sampler.share_of(sampler.next_batch_size());
      const std::int64_t size = std::clamp(share, std::int64_t{0}, std::ssize(own) - at);
      used.insert(used.end(), own.begin() + at, own.begin() + at + size);
      shares.push_back(share);
      sizes.push_back(size);
      if (wants_scale) scales.push_back(sampler.gradient_scale());
      sampler.advance();
      at += size;
      states.insert(states.end(), {sampler.state().epoch, sampler.state().consumed});
      if (sampler.state().epoch != epoch) surplus += std::ssize(own) - at;
    }
  }
  Answer result;
  result.set_numbers<std::int64_t>("used", used);
  result.set_numbers<std::int64_t>("shares", shares);
  result.set_numbers<std::int64_t>("sizes", sizes);
  result.set_numbers<std::int64_t>("states", states);
  result.set_numbers<double>("scales", scales);
  result.set("surplus", surplus);
  return result;
}

}  // namespace lockstep::exercise
