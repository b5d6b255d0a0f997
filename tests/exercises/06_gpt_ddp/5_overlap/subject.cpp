#include "exercise/subject.hpp"

#include <algorithm>

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/5_overlap/reducer.hpp"

namespace lockstep::exercise {

// How many works a reducer keeps: reducer.hpp says what this member holds, but nothing shows it. Only an explicit
// instantiation may name a private member.
std::size_t works_kept_by(const ddp::Reducer& reducer);
template <std::vector<Work> ddp::Reducer::*InFlight>
struct Opened {
  friend std::size_t works_kept_by(const ddp::Reducer& reducer) { return (reducer.*InFlight).size(); }
};
template struct Opened<&ddp::Reducer::in_flight_>;

namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t events_of(const LinkCollectives& group, CollectiveEvent::Kind kind) {
  return std::ranges::count(group.events(), kind, &CollectiveEvent::kind);
}

// A model of which every parameter has as many elements as `counts` says, in the buckets' memory.
struct Model {
  std::vector<float> memory;
  std::vector<ddp::GradientBucket> buckets;
  std::vector<std::span<float>> gradients;  // by parameter
};

void build(Model& model, Question& question) {
  const Numbers counts = question.numbers<std::int64_t>("counts"),
                bucket_of = question.numbers<std::int64_t>("bucket_of");
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  model.memory.resize(static_cast<std::size_t>(total));
  model.gradients.resize(counts.size());
  model.buckets.resize(static_cast<std::size_t>(question.get<std::int64_t>("bucket_count")));
  std::size_t begin = 0;
  for (std::size_t b = 0; b < model.buckets.size(); ++b) {
    const std::size_t first = begin;
    for (std::size_t p = counts.size(); p-- > 0;) {
      if (bucket_of[p] != static_cast<std::int64_t>(b)) continue;
      const auto count = static_cast<std::size_t>(counts[p]);
      model.gradients[p] = std::span(model.memory).subspan(begin, count);
      model.buckets[b].parameters.push_back(p);
      begin += count;
    }
    model.buckets[b].gradients = std::span(model.memory).subspan(first, begin - first);
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
  ddp::Reducer reducer(model.buckets, group);
  Numbers issued, waited, kept;
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
      kept.push_back(static_cast<std::int64_t>(works_kept_by(reducer)));
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
  result.set_numbers<std::int64_t>("kept", kept);
  result.set_numbers<std::int64_t>("all_reduces", group.issued("all_reduce"));
  result.set_numbers<float>("means", means);
  return result;
}

}  // namespace lockstep::exercise
