#pragma once
/// @file
/// The loss of exercise 10.3 in float64, for all ranks at once: right, or with one mistake that the judge compares with
/// what it has seen.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "10_tensor_parallel/3_vocabulary_loss/vocabulary_loss.hpp"

namespace lockstep::exercise {

/// Logits of all columns, and who has which.
struct WholeLogits {
  std::vector<std::int64_t> columns;  ///< By rank.
  std::vector<std::int32_t> targets;  ///< By row.
  std::vector<float> elements;        ///< [R, V]

  [[nodiscard]] std::size_t rows() const { return targets.size(); }
  [[nodiscard]] std::int64_t first_of(std::size_t rank) const {
    std::int64_t first = 0;
    for (std::size_t r = 0; r < rank; ++r) first += columns[r];
    return first;
  }
  [[nodiscard]] std::int64_t vocabulary() const { return first_of(columns.size()); }
  [[nodiscard]] float at(std::size_t row, std::int64_t column) const {
    return elements[row * static_cast<std::size_t>(vocabulary()) + static_cast<std::size_t>(column)];
  }
};

/// A mistake; its description completes "that is what comes out if ".
struct WrongLoss {
  enum class Sum { kRight, kOwnColumns, kOwnMaxima, kOfEveryRank };
  enum class Target { kRight, kForeignIsFirst, kEndIsOwn, kNotShifted, kOnItsRankOnly, kMean, kMissing };
  enum class Mean { kRight, kAllRows, kSum, kByRanks };
  enum class Ignored { kRight, kHasGradient, kIsFirstColumn };
  enum class Exponentials { kRight, kOwnMaximum, kOwnColumns };

  const char* what = "";
  Sum sum = Sum::kRight;
  Target loss_target = Target::kRight, gradient_target = Target::kRight;
  Mean loss_mean = Mean::kRight, gradient_mean = Mean::kRight;
  Ignored ignored = Ignored::kRight;
  Exponentials exponentials = Exponentials::kRight;  // of the gradient alone
};

inline constexpr WrongLoss kWrongLosses[] = {
    {.what = "each rank takes the softmax of its own columns", .sum = WrongLoss::Sum::kOwnColumns},
    {.what = "the ranks' sums are added up although each is relative to its own maximum",
     .sum = WrongLoss::Sum::kOwnMaxima},
    {.what = "every rank adds the sum of all columns, so it counts once for each rank: the loss grows by log(ranks)",
     .sum = WrongLoss::Sum::kOfEveryRank},
    {.what = "on ranks that do not have the target, column 0 is taken for it in the loss",
     .loss_target = WrongLoss::Target::kForeignIsFirst},
    {.what = "on ranks that do not have the target, 1 is subtracted from the gradient of column 0",
     .gradient_target = WrongLoss::Target::kForeignIsFirst},
    {.what = "on ranks that do not have the target, column 0 is taken for it",
     .loss_target = WrongLoss::Target::kForeignIsFirst,
     .gradient_target = WrongLoss::Target::kForeignIsFirst},
    {.what = "the column after a rank's last one counts as its own, and is the first of the next row in memory",
     .loss_target = WrongLoss::Target::kEndIsOwn,
     .gradient_target = WrongLoss::Target::kEndIsOwn},
    {.what = "targets are taken for columns of the share, without subtracting first_column",
     .loss_target = WrongLoss::Target::kNotShifted,
     .gradient_target = WrongLoss::Target::kNotShifted},
    {.what = "the target's logit is subtracted on the rank that has it only",
     .loss_target = WrongLoss::Target::kOnItsRankOnly},
    {.what = "the target's logit is divided by the number of ranks", .loss_target = WrongLoss::Target::kMean},
    {.what = "the target's logit is not subtracted", .loss_target = WrongLoss::Target::kMissing},
    {.what = "the gradient is the softmax alone, without subtracting 1 at the target",
     .gradient_target = WrongLoss::Target::kMissing},
    {.what = "sums are divided by the number of all rows, ignored ones too",
     .loss_mean = WrongLoss::Mean::kAllRows,
     .gradient_mean = WrongLoss::Mean::kAllRows},
    {.what = "the loss and its gradient are sums over the rows, not means",
     .loss_mean = WrongLoss::Mean::kSum,
     .gradient_mean = WrongLoss::Mean::kSum},
    {.what = "the gradient is not divided by the number of rows that count", .gradient_mean = WrongLoss::Mean::kSum},
    {.what = "the gradient is divided by the number of ranks", .gradient_mean = WrongLoss::Mean::kByRanks},
    {.what =
         "the gradient is made of exponentials that are relative to the rank's own maximum, divided by a sum that is "
         "relative to the row's",
     .exponentials = WrongLoss::Exponentials::kOwnMaximum},
    {.what = "the gradient is made of the softmax of the rank's own columns, and the loss of that of all",
     .exponentials = WrongLoss::Exponentials::kOwnColumns},
    {.what = "ignored rows have a gradient", .ignored = WrongLoss::Ignored::kHasGradient},
    {.what = "ignored rows count as rows with target 0", .ignored = WrongLoss::Ignored::kIsFirstColumn},
};

struct RankLoss {
  double loss = 0;
  std::vector<double> gradient;  ///< [R, columns]
};

/// Computes what each rank returns.
class LossReference {
 public:
  LossReference(const WholeLogits& logits, const WrongLoss& wrong) : logits_(logits), wrong_(wrong) {
    for (std::size_t rank = 0; rank < logits.columns.size(); ++rank) ranks_.push_back(of_rank(rank));
  }

  [[nodiscard]] const std::vector<RankLoss>& ranks() const noexcept { return ranks_; }

 private:
  using Sum = WrongLoss::Sum;
  using Target = WrongLoss::Target;
  using Mean = WrongLoss::Mean;
  using Ignored = WrongLoss::Ignored;
  using Exponentials = WrongLoss::Exponentials;

  [[nodiscard]] double maximum(std::size_t row, std::int64_t begin, std::int64_t end) const {
    double largest = logits_.at(row, begin);
    for (std::int64_t j = begin; j < end; ++j) largest = std::max(largest, static_cast<double>(logits_.at(row, j)));
    return largest;
  }
  [[nodiscard]] double sum(std::size_t row, std::int64_t begin, std::int64_t end, double relative_to) const {
    double total = 0;
    for (std::int64_t j = begin; j < end; ++j) total += std::exp(static_cast<double>(logits_.at(row, j)) - relative_to);
    return total;
  }

  struct Row {
    double maximum, sum;
  };
  [[nodiscard]] Row statistics(std::size_t row, std::size_t rank) const {
    const std::int64_t first = logits_.first_of(rank), end = first + logits_.columns[rank], all = logits_.vocabulary();
    if (wrong_.sum == Sum::kOwnColumns) {
      const double own = maximum(row, first, end);
      return {own, sum(row, first, end, own)};
    }
    const double largest = maximum(row, 0, all);
    if (wrong_.sum == Sum::kOwnMaxima) {
      double total = 0;
      for (std::size_t r = 0; r < logits_.columns.size(); ++r) {
        const std::int64_t begin = logits_.first_of(r), past = begin + logits_.columns[r];
        total += sum(row, begin, past, maximum(row, begin, past));
      }
      return {largest, total};
    }
    const double times = wrong_.sum == Sum::kOfEveryRank ? static_cast<double>(logits_.columns.size()) : 1.0;
    return {largest, times * sum(row, 0, all, largest)};
  }

  [[nodiscard]] std::int32_t target_of(std::size_t row) const {
    const std::int32_t target = logits_.targets[row];
    const bool is_ignored = target == tensor_parallel::kIgnored;
    return is_ignored && wrong_.ignored == Ignored::kIsFirstColumn ? 0 : target;
  }

  // The element of this rank's share, in the row or past its end, that is taken for the target; -1: none.
  [[nodiscard]] std::int64_t own_target(std::size_t row, std::size_t rank, Target how) const {
    const std::int64_t columns = logits_.columns[rank];
    if (how == Target::kNotShifted) return target_of(row) < columns ? target_of(row) : -1;
    const std::int64_t column = target_of(row) - logits_.first_of(rank);
    const bool has_next_row = row + 1 < logits_.rows();
    if (how == Target::kEndIsOwn && column == columns && has_next_row) return column;
    if (column >= 0 && column < columns) return column;
    return how == Target::kForeignIsFirst ? 0 : -1;
  }

  [[nodiscard]] double target_logit(std::size_t row, std::size_t rank) const {
    double total = 0;
    for (std::size_t r = 0; r < logits_.columns.size(); ++r) {
      if (wrong_.loss_target == Target::kOnItsRankOnly && r != rank) continue;
      const std::int64_t column = own_target(row, r, wrong_.loss_target), columns = logits_.columns[r];
      if (column < 0) continue;
      total += logits_.at(row + static_cast<std::size_t>(column / columns), logits_.first_of(r) + column % columns);
    }
    if (wrong_.loss_target == Target::kMissing) return 0;
    return wrong_.loss_target == Target::kMean ? total / static_cast<double>(logits_.columns.size()) : total;
  }

  [[nodiscard]] double divisor(Mean mean) const {
    const auto rows = static_cast<double>(logits_.rows());
    auto counted = rows;
    if (wrong_.ignored != Ignored::kIsFirstColumn)
      counted -= static_cast<double>(std::ranges::count(logits_.targets, tensor_parallel::kIgnored));
    if (mean == Mean::kSum) return 1;
    if (mean == Mean::kByRanks) return counted * static_cast<double>(logits_.columns.size());
    return mean == Mean::kAllRows ? rows : counted;
  }

  [[nodiscard]] RankLoss of_rank(std::size_t rank) const {
    const std::int64_t columns = logits_.columns[rank], first = logits_.first_of(rank);
    RankLoss result{.loss = 0, .gradient = std::vector<double>(logits_.rows() * static_cast<std::size_t>(columns))};
    for (std::size_t row = 0; row < logits_.rows(); ++row) {
      const bool is_ignored = target_of(row) == tensor_parallel::kIgnored;
      if (is_ignored && wrong_.ignored != Ignored::kHasGradient) continue;
      const Row all = statistics(row, rank);
      if (!is_ignored)
        result.loss += (std::log(all.sum) + all.maximum - target_logit(row, rank)) / divisor(wrong_.loss_mean);
      const std::size_t begin = row * static_cast<std::size_t>(columns);
      const double own = maximum(row, first, first + columns);
      const double relative_to = wrong_.exponentials == Exponentials::kRight ? all.maximum : own;
      const double total =
          wrong_.exponentials == Exponentials::kOwnColumns ? sum(row, first, first + columns, own) : all.sum;
      for (std::int64_t j = 0; j < columns; ++j)
        result.gradient[begin + static_cast<std::size_t>(j)] +=
            std::exp(static_cast<double>(logits_.at(row, first + j)) - relative_to) / total /
            divisor(wrong_.gradient_mean);
      const std::int64_t target = is_ignored ? -1 : own_target(row, rank, wrong_.gradient_target);
      if (target >= 0 && wrong_.gradient_target != Target::kMissing)
        result.gradient[begin + static_cast<std::size_t>(target)] -= 1 / divisor(wrong_.gradient_mean);
    }
    return result;
  }

  const WholeLogits& logits_;
  WrongLoss wrong_;
  std::vector<RankLoss> ranks_;
};

}  // namespace lockstep::exercise
