#include "10_tensor_parallel/3_vocabulary_loss/vocabulary_loss.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::tensor_parallel {

VocabularyLoss vocabulary_cross_entropy(const LogitsShare& logits, std::span<const std::int32_t> targets,
                                        ShardCollectives& group) {
  // SOLUTION(10.3) vocabulary_cross_entropy: three numbers of each row from each rank, then the loss and own columns
  const auto rows = static_cast<std::size_t>(logits.rows), columns = static_cast<std::size_t>(logits.columns);
  const auto row_of = [&](std::size_t row) { return logits.elements.subspan(row * columns, columns); };
  const auto own_target = [&](std::size_t row) {  // of this rank's columns; `columns`: it is none of them
    const std::int64_t column = targets[row] - logits.first_column;
    return column >= 0 && column < logits.columns ? static_cast<std::size_t>(column) : columns;
  };

  // By row: the maximum, the sum of the exponentials relative to it, and the target's logit, or 0.
  std::vector<float> own(3 * rows), all(own.size() * static_cast<std::size_t>(group.world_size()));
  for (std::size_t row = 0; row < rows; ++row) {
    const float maximum = std::ranges::max(row_of(row));
    float sum = 0;
    for (const float logit : row_of(row)) sum += std::exp(logit - maximum);
    const std::size_t target = own_target(row);
    own[3 * row] = maximum;
    own[3 * row + 1] = sum;
    own[3 * row + 2] = target < columns ? row_of(row)[target] : 0.0F;
  }
  group.all_gather(all, own).synchronize();

  const auto counted =
      static_cast<float>(targets.size() - static_cast<std::size_t>(std::ranges::count(targets, kIgnored)));
  VocabularyLoss result{.gradient = std::vector<float>(rows * columns)};
  for (std::size_t row = 0; row < rows; ++row) {
    if (targets[row] == kIgnored) continue;
    float maximum = all[3 * row], sum = 0, target_logit = 0;
    for (std::size_t at = 3 * row; at < all.size(); at += 3 * rows) maximum = std::max(maximum, all[at]);
    for (std::size_t at = 3 * row; at < all.size(); at += 3 * rows) {
      sum += all[at + 1] * std::exp(all[at] - maximum);
      target_logit += all[at + 2];
    }
    result.loss += (std::log(sum) + maximum - target_logit) / counted;
    const std::span<float> gradient = std::span(result.gradient).subspan(row * columns, columns);
    for (std::size_t column = 0; column < columns; ++column)
      gradient[column] = std::exp(row_of(row)[column] - maximum) / sum / counted;
    if (const std::size_t target = own_target(row); target < columns) gradient[target] -= 1 / counted;
  }
  return result;
  // END SOLUTION
}

}  // namespace lockstep::tensor_parallel
