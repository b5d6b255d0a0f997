#include "exercise/subject.hpp"

#include <algorithm>
#include <string>

#include "../../never_awaited.hpp"
#include "09_sharded/2_stage_one/sharded_step.hpp"
#include "base/error.hpp"
#include "toy_training.hpp"

namespace lockstep::exercise {
namespace {

using Numbers = std::vector<std::int64_t>;

class Momentum final : public sharded::PartOptimizer {
 public:
  Momentum(const Blocks& values, int ranks) {
    for (const Block& block : values) moments_.emplace_back(block.size() / static_cast<std::size_t>(ranks));
  }

  void update(std::size_t bucket, std::span<float> values, std::span<const float> gradients) override {
    require(bucket < moments_.size(), "update(", bucket, "): there are only ", moments_.size(), " buckets, from 0 on");
    const std::size_t count = moments_[bucket].size();
    if (values.size() != count || gradients.size() != count)
      throw ContractError(concat("the optimizer has moments for ", count, " elements of bucket ", bucket,
                                 ", this rank's part, and got ", values.size(), " values and ", gradients.size(),
                                 " gradients"));
    momentum_update(values, gradients, moments_[bucket]);
    updates.push_back(static_cast<std::int64_t>(bucket));
  }

  Numbers updates;  // buckets, in the order of the calls

 private:
  Blocks moments_;
};

std::int64_t events_of(const LinkCollectives& group, CollectiveEvent::Kind kind) {
  return std::ranges::count(group.events(), kind, &CollectiveEvent::kind);
}

// "reduce_scatter 32; reduce_scatter 16; ...": what has been issued.
std::string issued_by(const LinkCollectives& group) {
  std::string text;
  for (const CollectiveEvent& event : group.events())
    if (event.kind == CollectiveEvent::Kind::kIssued) text += concat(event.operation, " ", event.count, "; ");
  return text;
}

}  // namespace

Answer answer(Question& question) {
  const ToyTraining training{.counts = question.numbers<std::int64_t>("counts"),
                             .ranks = question.world_size(),
                             .steps = question.get<int>("steps"),
                             .max_norm = question.get<double>("max_norm")};
  LinkCollectives& group = question.collectives();
  Blocks values = first_values(training), gradients = values;
  std::vector<sharded::Bucket> buckets;
  for (std::size_t b = 0; b < values.size(); ++b) buckets.push_back({values[b], gradients[b]});
  Momentum optimizer(values, group.world_size());
  sharded::ShardedStep step(buckets, group, optimizer);
  std::vector<double> losses, norms;
  std::vector<float> all_values;
  Numbers issued, waited;  // after each launch(), and at the end of each step
  for (int s = 0; s < training.steps; ++s) {
    losses.push_back(loss_of(group.rank(), s, values));
    for (std::size_t b = 0; b < values.size(); ++b) {
      fill_gradient(group.rank(), s, b, values[b], gradients[b]);
      step.launch(b);
      issued.push_back(events_of(group, CollectiveEvent::Kind::kIssued));
      waited.push_back(events_of(group, CollectiveEvent::Kind::kSynchronized));
    }
    for (std::size_t b = 0; b < values.size(); ++b) step.wait(b);
    norms.push_back(step.finish(training.max_norm));
    issued.push_back(events_of(group, CollectiveEvent::Kind::kIssued));
    waited.push_back(events_of(group, CollectiveEvent::Kind::kSynchronized));
    for (const Block& block : values) all_values.insert(all_values.end(), block.begin(), block.end());
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(group));
  result.set("collectives", issued_by(group));
  result.set_numbers<std::int64_t>("issued", issued);
  result.set_numbers<std::int64_t>("waited", waited);
  result.set_numbers<std::int64_t>("updates", optimizer.updates);
  result.set_numbers<double>("losses", losses);
  result.set_numbers<double>("norms", norms);
  result.set_numbers<float>("values", all_values);
  return result;
}

}  // namespace lockstep::exercise
