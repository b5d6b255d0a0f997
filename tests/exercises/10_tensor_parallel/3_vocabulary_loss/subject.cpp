#include "exercise/subject.hpp"

#include <algorithm>

#include "../../never_awaited.hpp"
#include "10_tensor_parallel/3_vocabulary_loss/vocabulary_loss.hpp"

namespace lockstep::exercise {
namespace {

// Numbers that this rank has contributed to collectives.
std::int64_t contributed(const LinkCollectives& group) {
  std::int64_t numbers = 0;
  for (const CollectiveEvent& event : group.events()) {
    if (event.kind != CollectiveEvent::Kind::kIssued) continue;
    numbers += event.operation == "all_gather" ? event.count / group.world_size() : event.count;
  }
  return numbers;
}

}  // namespace

Answer answer(Question& question) {
  const auto elements = question.numbers<float>("logits");
  const auto targets = question.numbers<std::int32_t>("targets");
  const tensor_parallel::LogitsShare share{.rows = question.get<std::int64_t>("rows"),
                                           .columns = question.get<std::int64_t>("columns"),
                                           .first_column = question.get<std::int64_t>("first_column"),
                                           .elements = elements};
  LinkCollectives& group = question.collectives();
  const tensor_parallel::VocabularyLoss loss = tensor_parallel::vocabulary_cross_entropy(share, targets, group);
  Answer result;
  result.set_numbers<double>("losses", std::vector<double>{loss.loss});
  result.set_numbers<float>("gradient", loss.gradient);
  result.set("contributed", contributed(group));
  result.set("collectives", static_cast<std::int64_t>(std::ranges::count(group.events(), CollectiveEvent::Kind::kIssued,
                                                                         &CollectiveEvent::kind)));
  result.set(kNeverAwaited, never_awaited(group));
  return result;
}

}  // namespace lockstep::exercise
