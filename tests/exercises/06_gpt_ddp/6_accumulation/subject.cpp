#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/6_accumulation/accumulation.hpp"

namespace lockstep::exercise {
namespace {

// Parts have the losses and gradients that the question says.
class GivenReplica final : public ddp::Replica {
 public:
  explicit GivenReplica(Question& question)
      : losses_(question.numbers<double>("losses")),
        part_gradients_(question.numbers<double>("gradients")),
        gradient_(static_cast<std::size_t>(question.get<std::int64_t>("count"))) {}

  double backward(const ddp::MicroBatch& part, double weight) override {
    const auto index = static_cast<std::size_t>(part.index);
    for (std::size_t i = 0; i < gradient_.size(); ++i)
      gradient_[i] += static_cast<float>(weight * part_gradients_.at(index * gradient_.size() + i));
    return losses_.at(index);
  }
  [[nodiscard]] std::span<float> gradient() noexcept override { return gradient_; }

 private:
  std::vector<double> losses_, part_gradients_;
  std::vector<float> gradient_;
};

}  // namespace

Answer answer(Question& question) {
  GivenReplica replica(question);
  std::vector<ddp::MicroBatch> parts;
  for (const std::int64_t targets : question.numbers<std::int64_t>("targets"))
    parts.push_back({static_cast<std::int64_t>(parts.size()), targets});
  LinkCollectives& group = question.collectives();
  const double loss = ddp::accumulate_step(parts, replica, group);
  std::int64_t sent = 0, largest = 0;
  for (const CollectiveEvent& event : group.events()) {
    if (event.kind != CollectiveEvent::Kind::kIssued) continue;
    sent += event.count;
    if (event.operation == "all_reduce" && event.count >= static_cast<std::int64_t>(replica.gradient().size()))
      ++largest;
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(group));
  const double losses[] = {loss};
  result.set_numbers<double>("loss", losses);
  result.set_numbers<float>("gradient", replica.gradient());
  result.set("sent", sent);
  result.set("gradients_sent", largest);
  return result;
}

}  // namespace lockstep::exercise
