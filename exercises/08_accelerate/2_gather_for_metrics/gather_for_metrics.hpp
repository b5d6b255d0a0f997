#pragma once
/// @file
/// Given: the function of exercise 08.2 as its callers see it, and where a batch stands in the evaluation.
#include <cstdint>
#include <span>
#include <vector>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::accelerate {

using exercise::Collectives;

/// Which of its batches the loader has handed out last; the same on all ranks.
///
/// The loader deals the samples like cards. With P ranks, position p of the order goes to rank p % P. The k-th batches
/// of all ranks together hold the positions from k * P * batch_size on, at most P * batch_size of them. So rank r's row
/// i of batch k is position k * P * batch_size + i * P + r.
struct EvaluationBatch {
  std::int64_t sample_count = 0;  ///< Samples of the whole evaluation, at least 1.
  std::int64_t batch_size = 1;    ///< Samples of a batch on each rank; the last batch may have fewer.
  std::int64_t index = 0;         ///< k: which batch, from 0. At least one of its positions is below sample_count.
};

/// The predictions of all ranks for a batch, as one process would have had them: in the order of the positions, and
/// each sample once.
///
/// @param own    This rank's predictions [n], one for each row of its batch. If the samples do not come out even,
///               one of two things has happened to the last batch: samples were repeated, at the positions from
///               sample_count on, until all ranks had equally many rows; or high ranks have one row less, perhaps none.
/// @param batch  The same on all ranks.
/// @param group  All ranks call this function together.
/// @return  On every rank: the predictions for those positions of the batch that are below sample_count.
/// @cost    One gather_rows().
[[nodiscard]] std::vector<std::int64_t> gather_for_metrics(std::span<const std::int64_t> own,
                                                           const EvaluationBatch& batch, Collectives& group);

}  // namespace lockstep::accelerate
