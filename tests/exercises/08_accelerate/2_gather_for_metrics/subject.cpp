#include "exercise/subject.hpp"

#include "08_accelerate/2_gather_for_metrics/gather_for_metrics.hpp"

namespace lockstep::exercise {

// Collects batch after batch; "rows" says how many rows of "own" each batch has on this rank.
Answer answer(Question& question) {
  const std::vector<std::int64_t> rows = question.numbers<std::int64_t>("rows"),
                                  own = question.numbers<std::int64_t>("own");
  accelerate::EvaluationBatch batch{.sample_count = question.get<std::int64_t>("sample_count"),
                                    .batch_size = question.get<std::int64_t>("batch_size")};
  std::vector<std::int64_t> gathered, counts;
  std::size_t begin = 0;
  for (const std::int64_t count : rows) {
    const auto row = std::span(own).subspan(begin, static_cast<std::size_t>(count));
    const std::vector<std::int64_t> all = accelerate::gather_for_metrics(row, batch, question.collectives());
    gathered.insert(gathered.end(), all.begin(), all.end());
    counts.push_back(static_cast<std::int64_t>(all.size()));
    begin += row.size();
    ++batch.index;
  }
  Answer result;
  result.set_numbers<std::int64_t>("gathered", gathered);
  result.set_numbers<std::int64_t>("counts", counts);
  result.set("gathers", static_cast<std::int64_t>(question.collectives().issued("gather_rows").size()));
  return result;
}

}  // namespace lockstep::exercise
