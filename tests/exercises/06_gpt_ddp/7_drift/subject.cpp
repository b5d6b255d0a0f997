#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/7_drift/drift.hpp"

namespace lockstep::exercise {
namespace {

// "none", or the drift as its tensor and rank.
std::vector<std::int64_t> to_numbers(const std::optional<ddp::Drift>& drift) {
  if (!drift) return {-1, -1};
  return {static_cast<std::int64_t>(drift->tensor), drift->rank};
}

Answer compare(Question& question) {
  const std::vector<float> values = question.numbers<float>("values");
  std::vector<std::span<const float>> tensors;
  std::span<const float> rest = values;
  for (const std::int64_t count : question.numbers<std::int64_t>("counts")) {
    tensors.push_back(rest.first(static_cast<std::size_t>(count)));
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  Answer result;
  result.set_numbers<std::int64_t>("drift", to_numbers(ddp::find_drift(tensors, question.collectives())));
  std::int64_t sent = 0;
  for (const CollectiveEvent& event : question.collectives().events())
    if (event.kind == CollectiveEvent::Kind::kIssued) sent += event.count;
  result.set("sent", sent);
  return result;
}

Answer train(Question& question) {
  ddp::Replica replica{question.numbers<float>("weight"), question.numbers<float>("running_mean")};
  const std::vector<float> inputs = question.numbers<float>("inputs"), targets = question.numbers<float>("targets");
  const auto samples = static_cast<std::ptrdiff_t>(question.get<std::int64_t>("samples"));
  const auto features = static_cast<std::ptrdiff_t>(replica.weight.size());
  std::vector<float> losses;
  std::vector<std::int64_t> drifts;
  for (std::ptrdiff_t step = 0; step < question.get<std::int64_t>("steps"); ++step) {
    const auto input = inputs.begin() + step * samples * features;
    const auto target = targets.begin() + step * samples;
    const ddp::Share share{{input, input + samples * features}, {target, target + samples}};
    const ddp::StepOptions options{.seed = question.get<std::uint64_t>("seed"),
                                   .step = step,
                                   .learning_rate = static_cast<float>(question.get<double>("learning_rate")),
                                   .noise = static_cast<float>(question.get<double>("noise")),
                                   .loss_limit = static_cast<float>(question.get<double>("loss_limit"))};
    losses.push_back(ddp::train_step(replica, share, options, question.collectives()));
    const std::span<const float> tensors[] = {replica.weight, replica.running_mean};
    const std::vector<std::int64_t> drift = to_numbers(ddp::find_drift(tensors, question.collectives()));
    drifts.insert(drifts.end(), drift.begin(), drift.end());
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(question.collectives()));
  result.set_numbers<float>("losses", losses);
  result.set_numbers<float>("weight", replica.weight);
  result.set_numbers<float>("running_mean", replica.running_mean);
  result.set_numbers<std::int64_t>("drifts", drifts);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  return question.get<std::string>("what") == "compare" ? compare(question) : train(question);
}

}  // namespace lockstep::exercise
