#include "exercise/subject.hpp"

#include "12_three_dimensions/2_splits/splits.hpp"

namespace lockstep::exercise {

// The calls of all ranks, rank by rank.
Answer answer(Question& question) {
  const splits::GridShape shape{question.get<int>("pipeline"), question.get<int>("data"), question.get<int>("tensor")};
  std::vector<std::int64_t> calls, colors, keys;
  for (int pipeline = 0; pipeline < shape.pipeline; ++pipeline) {
    for (int data = 0; data < shape.data; ++data) {
      for (int tensor = 0; tensor < shape.tensor; ++tensor) {
        const std::vector<splits::Split> own = splits::splits(shape, {pipeline, data, tensor});
        calls.push_back(std::ssize(own));
        for (const splits::Split& split : own) {
          colors.push_back(split.color);
          keys.push_back(split.key);
        }
      }
    }
  }
  Answer result;
  result.set_numbers<std::int64_t>("calls", calls);
  result.set_numbers<std::int64_t>("colors", colors);
  result.set_numbers<std::int64_t>("keys", keys);
  return result;
}

}  // namespace lockstep::exercise
