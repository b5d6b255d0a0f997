#include "exercise/subject.hpp"

#include "12_three_dimensions/1_rank_and_place/rank_and_place.hpp"

namespace lockstep::exercise {

// The places of all ranks, the ranks of all places from (0, 0, 0) on, and the lines of all ranks, axis by axis.
Answer answer(Question& question) {
  using places::Axis;
  const places::GridShape shape{question.get<int>("pipeline"), question.get<int>("data"), question.get<int>("tensor")};
  std::vector<std::int64_t> found, ranks, lengths, members;
  for (int rank = 0; rank < shape.pipeline * shape.data * shape.tensor; ++rank) {
    const places::Place place = places::place_of(shape, rank);
    found.insert(found.end(), {place.pipeline, place.data, place.tensor});
    for (const Axis axis : {Axis::kPipeline, Axis::kData, Axis::kTensor}) {
      const std::vector<int> line = places::line(shape, rank, axis);
      lengths.push_back(std::ssize(line));
      members.insert(members.end(), line.begin(), line.end());
    }
  }
  for (int pipeline = 0; pipeline < shape.pipeline; ++pipeline)
    for (int data = 0; data < shape.data; ++data)
      for (int tensor = 0; tensor < shape.tensor; ++tensor)
        ranks.push_back(places::rank_at(shape, {pipeline, data, tensor}));
  Answer result;
  result.set_numbers<std::int64_t>("places", found);
  result.set_numbers<std::int64_t>("ranks", ranks);
  result.set_numbers<std::int64_t>("lengths", lengths);
  result.set_numbers<std::int64_t>("members", members);
  return result;
}

}  // namespace lockstep::exercise
