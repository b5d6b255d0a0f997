#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "drifting_model.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  LinkCollectives& group = question.collectives();
  DriftingModel model(group.rank(), static_cast<std::size_t>(question.get<std::int64_t>("count")));
  sharded::train_locally(model, question.get<std::int64_t>("steps"), question.get<std::int64_t>("interval"), group);
  Answer result;
  result.set(kNeverAwaited, never_awaited(group));
  result.set("steps", model.steps);
  result.set_numbers<float>("values", model.values());
  result.set_numbers<float>("moments", model.moments());
  result.set_numbers<std::int64_t>("all_reduces", group.issued("all_reduce"));
  result.set_numbers<std::int64_t>("broadcasts", group.issued("broadcast"));
  return result;
}

}  // namespace lockstep::exercise
