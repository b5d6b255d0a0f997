#include "exercise/subject.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/5_overlap/reducer.hpp"
#include "base/error.hpp"

namespace lockstep::exercise {

namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t events_of(const LinkCollectives& group, CollectiveEvent::Kind kind) {
  return std::ranges::count(group.events(), kind, &CollectiveEvent::kind);
}

// A model of which every parameter has as many elements as `counts` says, in the buckets' memory.
struct Model {
  std::vector<float> memory;
  std::vector<std::vector<std::size_t>> parameters;  // by bucket
  std::vector<std::span<float>> buckets;
  std::vector<std::span<float>> gradients;  // by parameter
};

// Averages buckets through the collectives of exercises, and notes what the reducer asks for.
class Averager final : public ddp::BucketAverager {
 public:
  Averager(std::vector<std::span<float>> buckets, LinkCollectives& group)
      : buckets_(std::move(buckets)), group_(group), works_(buckets_.size()) {}

  void launch(std::size_t bucket) override {
    require_bucket(bucket, "launch");
    if (works_[bucket]) throw ContractError(concat("bucket ", bucket, " is launched twice in one step"));
    works_[bucket] = group_.all_reduce(buckets_[bucket]);
  }
  void wait(std::size_t bucket) override {
    require_bucket(bucket, "wait");
    if (!works_[bucket]) throw ContractError(concat("bucket ", bucket, " is waited for before it is launched"));
    if (!is_waited_.insert(bucket).second) return;
    works_[bucket]->synchronize();
    for (float& value : buckets_[bucket]) value /= static_cast<float>(group_.world_size());
  }
  void begin_step() {
    std::ranges::fill(works_, std::nullopt);
    is_waited_.clear();
  }

 private:
  void require_bucket(std::size_t bucket, const char* call) const {
    if (bucket < buckets_.size()) return;
    throw ContractError(concat(call, "(", bucket, "): there are only ", buckets_.size(), " buckets, from 0 on"));
  }

  std::vector<std::span<float>> buckets_;
  LinkCollectives& group_;
  std::vector<std::optional<Work>> works_;  // of the running step
  std::set<std::size_t> is_waited_;
};

void build(Model& model, Question& question) {
  const Numbers counts = question.numbers<std::int64_t>("counts"),
                bucket_of = question.numbers<std::int64_t>("bucket_of");
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  model.memory.resize(static_cast<std::size_t>(total));
  model.gradients.resize(counts.size());
  model.buckets.resize(static_cast<std::size_t>(question.get<std::int64_t>("bucket_count")));
  model.parameters.resize(model.buckets.size());
  std::size_t begin = 0;
  for (std::size_t b = 0; b < model.buckets.size(); ++b) {
    const std::size_t first = begin;
    for (std::size_t p = counts.size(); p-- > 0;) {
      if (bucket_of[p] != static_cast<std::int64_t>(b)) continue;
      const auto count = static_cast<std::size_t>(counts[p]);
      model.gradients[p] = std::span(model.memory).subspan(begin, count);
      model.parameters[b].push_back(p);
      begin += count;
    }
    model.buckets[b] = std::span(model.memory).subspan(first, begin - first);
  }
}

}  // namespace

// Runs backward once per row of "orders" (parameters, each row ended by -1), with the element of parameter p in step s
// being base + p * parameter_step + s * step_step. Reports how many collectives had been issued and waited for after
// each call.
Answer answer(Question& question) {
  Model model;
  build(model, question);
  LinkCollectives& group = question.collectives();
  const auto base = static_cast<float>(question.get<double>("base"));
  const auto parameter_step = static_cast<float>(question.get<double>("parameter_step"));
  Averager averager(model.buckets, group);
  ddp::Reducer reducer(model.parameters, averager);
  Numbers issued, waited;
  std::vector<float> means;
  float step = 0;  // what all values of the running step have more than those of the first
  std::ranges::fill(model.memory, 0.0F);
  for (const std::int64_t parameter : question.numbers<std::int64_t>("orders")) {
    if (parameter >= 0) {
      std::ranges::fill(model.gradients[static_cast<std::size_t>(parameter)],
                        base + static_cast<float>(parameter) * parameter_step + step);
      reducer.on_gradient_ready(static_cast<std::size_t>(parameter));
    } else {
      reducer.on_backward_end();
      for (const std::span<float> gradient : model.gradients)
        means.insert(means.end(), gradient.begin(), gradient.end());
      averager.begin_step();
      std::ranges::fill(model.memory, 0.0F);
      step += static_cast<float>(question.get<double>("step_step"));
    }
    issued.push_back(events_of(group, CollectiveEvent::Kind::kIssued));
    waited.push_back(events_of(group, CollectiveEvent::Kind::kSynchronized));
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(group));
  result.set_numbers<std::int64_t>("issued", issued);
  result.set_numbers<std::int64_t>("waited", waited);
  result.set_numbers<std::int64_t>("all_reduces", group.issued("all_reduce"));
  result.set_numbers<float>("means", means);
  return result;
}

}  // namespace lockstep::exercise
