#include <algorithm>

#include "08_accelerate/2_gather_for_metrics/gather_for_metrics.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"keeps_repeated", "nothing is left out, so repeated samples count twice",
     "How many positions of this batch are below sample_count? No more than these are wanted."},
    {"order_of_ranks", "the rows are in the order of the ranks instead of that of the samples",
     "Position p is in row p / P of rank p % P."},
    {"cuts_order_of_ranks", "the rows are in the order of the ranks, and the list is cut at its end",
     "That loses real rows of the last rank and keeps repeated ones of others. First restore the order, then cut."},
    {"cuts_every_batch", "every batch is cut to what the last batch has",
     "Only the last batch can hold fewer than P * batch_size positions. How many are left from this batch on?"},
    {"last_row_of_all", "every rank leaves out its last row if the last batch is not full",
     "Not all ranks have a repeated sample: which of the positions are below sample_count?"},
    {"removes_equal", "predictions that occur twice are taken for repeated samples",
     "Different samples may have equal predictions. Decide by position."},
    {"removes_equal_neighbours", "of neighbouring samples with equal predictions only the first one is kept",
     "Different samples may have equal predictions: decide by position alone."},
    {"filling_by_value", "rows of filling are recognised by their value, -1, which a model may predict",
     "A prediction may be any integer: a position is real if it is below sample_count."},
    {"own_row_count", "each rank passes as many rows as it has, and the ranks do not have equally many",
     "gather_rows() takes equally many integers from all ranks: fill up, and leave the filling out afterwards."},
    {"stride_of_full_batch", "rows of a short last batch are looked for where those of a full one would be",
     "Rank r's block begins at r times the number of rows that each rank has passed."},
    {"begins_by_own_rows", "where the last batch begins is computed from its own few rows, so repeated ones look real",
     "All batches before the last are full: batch k begins at k * P * batch_size."},
    {"own_rows", "a rank returns its own rows", "All ranks return the predictions of all ranks."},
    {"forgets_the_batch", "rows of filling are kept, as if positions were counted from the start of this batch",
     "Batch k begins at position k * P * batch_size: only with it can a position be compared with sample_count."},
    {"remainder_of_zero", "the last batch is cut to the remainder, which is 0 if all batches are full",
     "The last batch has sample_count - index * P * batch_size real rows."},
    {"asks_for_counts", "the ranks exchange how many rows they have before they exchange the rows",
     "Nobody has to ask: the counts follow from sample_count, batch_size and index."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {

using exercise::is_mistake;

namespace {

// Real positions of a batch.
std::int64_t count_of(const EvaluationBatch& batch, std::int64_t most) {
  if (is_mistake("forgets_the_batch")) return std::min(most, batch.sample_count);
  const bool is_last = (batch.index + 1) * most >= batch.sample_count;
  if (is_mistake("remainder_of_zero") && is_last) return batch.sample_count % most;
  if (is_mistake("cuts_every_batch") && batch.sample_count % most != 0) return batch.sample_count % most;
  return std::min(most, batch.sample_count - batch.index * most);
}

std::vector<std::int64_t> without_equal(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> kept;
  for (const std::int64_t value : values)
    if (std::ranges::find(kept, value) == kept.end()) kept.push_back(value);
  return kept;
}

// Filled up with -1; what is -1 is left out.
std::vector<std::int64_t> gather_by_value(std::span<const std::int64_t> own, const EvaluationBatch& batch,
                                          Collectives& group) {
  const std::int64_t ranks = group.world_size();
  std::vector<std::int64_t> padded(own.begin(), own.end());
  padded.resize(static_cast<std::size_t>(batch.batch_size), -1);
  const std::vector<std::int64_t> all = group.gather_rows(padded);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < ranks * batch.batch_size; ++i)
    if (const std::int64_t value = all[static_cast<std::size_t>(i % ranks * batch.batch_size + i / ranks)]; value != -1)
      result.push_back(value);
  const std::int64_t left = batch.sample_count - batch.index * ranks * batch.batch_size;
  if (std::ssize(result) > left) result.resize(static_cast<std::size_t>(left));
  return result;
}

}  // namespace

std::vector<std::int64_t> gather_for_metrics(std::span<const std::int64_t> own, const EvaluationBatch& batch,
                                             Collectives& group) {
  if (is_mistake("filling_by_value")) return gather_by_value(own, batch, group);
  const std::int64_t ranks = group.world_size(), most = ranks * batch.batch_size;
  std::int64_t count = count_of(batch, most);
  if (is_mistake("asks_for_counts")) (void)group.gather_rows(std::vector<std::int64_t>{std::ssize(own)});
  const std::int64_t rows = (std::min(most, batch.sample_count - batch.index * most) + ranks - 1) / ranks;
  std::vector<std::int64_t> padded(own.begin(), own.end());
  if (!is_mistake("own_row_count")) padded.resize(static_cast<std::size_t>(rows));
  if (is_mistake("last_row_of_all") && count < most) padded.pop_back();
  if (is_mistake("begins_by_own_rows")) count = std::min(rows * ranks, batch.sample_count - batch.index * ranks * rows);
  const std::vector<std::int64_t> all = group.gather_rows(padded);
  if (is_mistake("own_rows")) return {own.begin(), own.end()};
  if (is_mistake("order_of_ranks") || is_mistake("cuts_order_of_ranks")) {
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < rows * ranks; ++i)
      if (is_mistake("cuts_order_of_ranks") ? i < count : i % rows * ranks + i / rows < count)
        result.push_back(all[static_cast<std::size_t>(i)]);
    return result;
  }
  if (is_mistake("keeps_repeated") || is_mistake("removes_equal")) count = rows * ranks;
  std::int64_t stride = is_mistake("stride_of_full_batch") ? batch.batch_size : rows;
  if (is_mistake("last_row_of_all") && count < most) count = --stride * ranks;
  std::vector<std::int64_t> result;
  for (std::int64_t position = 0; position < count; ++position) {
    const auto at = static_cast<std::size_t>(position % ranks * stride + position / ranks);
    result.push_back(at < all.size() ? all[at] : 0);
  }
  if (is_mistake("removes_equal_neighbours")) result.erase(std::unique(result.begin(), result.end()), result.end());
  return is_mistake("removes_equal") ? without_equal(result) : result;
}

}  // namespace lockstep::accelerate
