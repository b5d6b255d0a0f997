#pragma once
/// @file
/// Given: the cross-entropy of logits whose columns lie on different ranks, for exercise 10.3.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::tensor_parallel {

using exercise::ShardCollectives;
using exercise::Work;

/// A row with this target counts as if it were not there, as PyTorch's ignore_index.
inline constexpr std::int32_t kIgnored = -100;

/// The columns [first_column, first_column + columns) of the whole logits [R, V]. The next rank has the columns after
/// them; ranks may have different numbers of columns, each at least one.
struct LogitsShare {
  std::int64_t rows = 0;                 ///< R, the same on all ranks.
  std::int64_t columns = 0;              ///< Of this rank.
  std::int64_t first_column = 0;         ///< Column 0 of the share is this column of the whole.
  std::span<const float> elements = {};  ///< [rows * columns], row after row.
};

struct VocabularyLoss {
  double loss = 0;                   ///< The same bits on all ranks.
  std::vector<float> gradient = {};  ///< [rows * columns]: of the loss with respect to this rank's logits.
};

/// The mean of -log softmax(row)[target] over all rows whose target is not kIgnored. The softmax is that of the whole
/// row of V logits. If every row is ignored, the loss and the gradient are 0.
///
/// @param targets  [R], the same on all ranks: columns of the whole logits, in [0, V), or kIgnored.
/// @return  The loss, and (softmax - 1 at the target) / (rows that count) for this rank's columns; 0 in ignored rows.
/// @pre   All ranks call this together, each with its share.
/// @cost  At most 3 collectives, to which this rank contributes at most 3 R numbers in all, whatever V is. (The rank's
///        part of an all_gather() is what it contributes; in an all_reduce() all elements are.)
[[nodiscard]] VocabularyLoss vocabulary_cross_entropy(const LogitsShare& logits, std::span<const std::int32_t> targets,
                                                      ShardCollectives& group);

}  // namespace lockstep::tensor_parallel
