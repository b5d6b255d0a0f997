#include "exercise/subject.hpp"

#include "09_sharded/1_own_elements/own_elements.hpp"

namespace lockstep::exercise {

// The elements of every parameter that every rank owns: rank by rank, and for each its parameters.
Answer answer(Question& question) {
  const auto counts = question.numbers<std::int64_t>("counts");
  const int ranks = question.get<int>("ranks");
  std::vector<std::int64_t> begins, ends;
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const sharded::Elements own = sharded::own_elements(counts, i, rank, ranks);
      begins.push_back(own.begin);
      ends.push_back(own.end);
    }
  }
  Answer result;
  result.set("unit_count", sharded::unit_count(counts, ranks));
  result.set_numbers<std::int64_t>("begins", begins);
  result.set_numbers<std::int64_t>("ends", ends);
  return result;
}

}  // namespace lockstep::exercise
