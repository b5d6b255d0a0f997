#include <algorithm>
#include <cmath>

#include "10_tensor_parallel/3_vocabulary_loss/vocabulary_loss.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"own_softmax", "each rank takes the softmax of its own columns, as if there were no others",
     "The maximum and the sum are those of the whole row: gather the ranks' numbers."},
    {"own_maxima", "the ranks' sums are added up although each is relative to its own maximum",
     "Multiply each by exp(its maximum - the row's maximum) first."},
    {"no_maximum", "no maximum is subtracted, so exp() overflows", "exp(x - m), with the row's maximum m."},
    {"log_of_probability", "the loss is the logarithm of the target's probability, which is 0 if its logit is small",
     "Put the logarithm inside: log(sum) + maximum - logit."},
    {"maximum_of_rank_zero", "all ranks subtract rank 0's maximum, and other ranks' exponentials overflow",
     "The maximum is over all ranks: gather all of theirs."},
    {"sum_of_every_rank", "a sum that contains all columns is added up over the ranks once more",
     "Each column counts once: the loss is too large by log(ranks)."},
    {"foreign_target_in_loss", "on ranks that do not have the target, the logit of column 0 is taken for it",
     "Such a rank contributes 0."},
    {"foreign_target_in_gradient", "on ranks that do not have the target, 1 is subtracted at column 0",
     "Only the rank that has the target subtracts 1."},
    {"end_is_own", "the column after the last one counts as this rank's own", "column < columns, not <=."},
    {"targets_not_shifted", "targets are taken for columns of the share", "Subtract first_column."},
    {"equal_shares", "rank r's share is taken to begin at column r times its own number of columns",
     "Ranks may have different numbers of columns: subtract first_column."},
    {"target_on_its_rank_only", "ranks that do not have the target return a loss without its logit",
     "The rank that has it tells the others."},
    {"target_averaged", "the target's logit is averaged over the ranks", "Only one rank has it: the sum is the logit."},
    {"gradient_without_target", "the gradient is the softmax alone", "Subtract 1 at the target, where it is."},
    {"divides_by_all_rows", "ignored rows count in the mean", "Divide by the number of rows that are not ignored."},
    {"sums", "the loss and its gradient are sums over the rows", "Divide both by the number of rows that count."},
    {"gradient_not_divided", "the loss is a mean and the gradient is that of a sum",
     "Divide the gradient by the number of rows that count, too."},
    {"gradient_by_ranks", "the gradient is divided by the number of ranks, as in data parallelism",
     "All ranks compute the same loss, and each its own columns' gradient."},
    {"ignored_have_gradient", "ignored rows have the gradient of a softmax", "Their gradient is 0."},
    {"ignored_is_column_zero", "kIgnored counts as target 0", "Leave these rows out before you look at the target."},
    {"divides_by_zero", "a batch without any row that counts gives NaN", "Then the loss is 0."},
    {"gathers_logits", "all logits are gathered", "A maximum, a sum and one logit for each row are enough."},
    {"row_by_row", "each row has collectives of its own", "Put the numbers of all rows into one buffer."},
    {"not_awaited", "the gather is not waited for", "Call synchronize() before you read the other ranks' numbers."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_mistake;

namespace {

struct Statistics {
  float maximum = 0, sum = 0, target = 0;
};

// The column of the share that counts as the target, or one past it; -1: none.
std::int64_t own_target(const LogitsShare& logits, std::int32_t target, std::size_t row, bool foreign_is_first) {
  if (is_mistake("ignored_is_column_zero") && target == kIgnored) target = 0;
  std::int64_t column = target - logits.first_column;
  if (is_mistake("targets_not_shifted")) column = target;
  const bool may_be_end = is_mistake("end_is_own") && static_cast<std::int64_t>(row) + 1 < logits.rows;
  if (column >= 0 && column < logits.columns + (may_be_end ? 1 : 0)) return column;
  return foreign_is_first ? 0 : -1;
}

Statistics statistics_of(const LogitsShare& logits, std::size_t row, std::int32_t target) {
  const std::size_t begin = row * static_cast<std::size_t>(logits.columns);
  const auto own = logits.elements.subspan(begin, static_cast<std::size_t>(logits.columns));
  Statistics result{.maximum = is_mistake("no_maximum") ? 0.0F : std::ranges::max(own)};
  for (const float logit : own) result.sum += std::exp(logit - result.maximum);
  const std::int64_t column = own_target(logits, target, row, is_mistake("foreign_target_in_loss"));
  if (column >= 0) result.target = logits.elements[begin + static_cast<std::size_t>(column)];
  return result;
}

// All ranks' numbers, those of a row together: by row and rank.
std::vector<Statistics> gathered(const LogitsShare& logits, std::vector<Statistics> own, ShardCollectives& group) {
  const auto ranks = static_cast<std::size_t>(group.world_size());
  if (is_mistake("gathers_logits")) {
    std::vector<float> whole(logits.elements.size() * ranks);
    if (std::ranges::adjacent_find(own, [](const Statistics&, const Statistics&) { return true; }) != own.end())
      group.all_reduce(whole).synchronize();
  }
  std::vector<float> mine, all(3 * own.size() * ranks);
  for (const Statistics& row : own) mine.insert(mine.end(), {row.maximum, row.sum, row.target});
  std::vector<Statistics> result(own.size() * ranks);
  if (is_mistake("row_by_row")) {
    std::vector<float> of_row(3 * ranks);
    for (std::size_t row = 0; row < own.size(); ++row) {
      group.all_gather(of_row, std::span(mine).subspan(3 * row, 3)).synchronize();
      for (std::size_t r = 0; r < ranks; ++r)
        result[row * ranks + r] = {of_row[3 * r], of_row[3 * r + 1], of_row[3 * r + 2]};
    }
    return result;
  }
  exercise::Work work = group.all_gather(all, mine);
  if (!is_mistake("not_awaited")) work.synchronize();
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t row = 0; row < own.size(); ++row) {
      const std::size_t at = 3 * (r * own.size() + row);
      result[row * ranks + r] = {all[at], all[at + 1], all[at + 2]};
    }
  }
  return result;
}

Statistics combined(std::span<const Statistics> ranks, std::size_t own) {
  const auto count = static_cast<float>(ranks.size());
  Statistics row;
  row.maximum =
      is_mistake("maximum_of_rank_zero") ? ranks[0].maximum : std::ranges::max(ranks, {}, &Statistics::maximum).maximum;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    row.sum += ranks[r].sum * (is_mistake("own_maxima") ? 1.0F : std::exp(ranks[r].maximum - row.maximum));
    if (!is_mistake("target_on_its_rank_only") || r == own) row.target += ranks[r].target;
  }
  if (is_mistake("own_softmax")) {
    row.maximum = ranks[own].maximum;
    row.sum = ranks[own].sum;
  }
  if (is_mistake("sum_of_every_rank")) row.sum *= count;
  if (is_mistake("target_averaged")) row.target /= count;
  return row;
}

struct Divisors {
  float loss, gradient;
};

Divisors divisors(std::span<const std::int32_t> targets, int ranks) {
  auto counted = static_cast<float>(targets.size());
  if (!is_mistake("divides_by_all_rows") && !is_mistake("ignored_is_column_zero"))
    counted -= static_cast<float>(std::ranges::count(targets, kIgnored));
  if (is_mistake("sums")) counted = 1;
  Divisors result{counted, counted};
  if (is_mistake("gradient_not_divided")) result.gradient = 1;
  if (is_mistake("gradient_by_ranks")) result.gradient *= static_cast<float>(ranks);
  return result;
}

}  // namespace

VocabularyLoss vocabulary_cross_entropy(const LogitsShare& share, std::span<const std::int32_t> targets,
                                        ShardCollectives& group) {
  LogitsShare logits = share;
  if (is_mistake("equal_shares")) logits.first_column = logits.columns * group.rank();
  const auto rows = static_cast<std::size_t>(logits.rows), columns = static_cast<std::size_t>(logits.columns),
             ranks = static_cast<std::size_t>(group.world_size());
  std::vector<Statistics> own;
  for (std::size_t row = 0; row < rows; ++row) own.push_back(statistics_of(logits, row, targets[row]));
  const std::vector<Statistics> all = gathered(logits, own, group);
  const Divisors by = divisors(targets, group.world_size());
  VocabularyLoss result{.gradient = std::vector<float>(rows * columns)};
  double sum_of_losses = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const bool is_ignored = targets[row] == kIgnored && !is_mistake("ignored_is_column_zero");
    if (is_ignored && !is_mistake("ignored_have_gradient")) continue;
    const Statistics whole =
        combined(std::span(all).subspan(row * ranks, ranks), static_cast<std::size_t>(group.rank()));
    if (!is_ignored && is_mistake("log_of_probability"))
      sum_of_losses -= std::log(std::exp(whole.target - whole.maximum) / whole.sum);
    else if (!is_ignored)
      sum_of_losses += std::log(whole.sum) + whole.maximum - whole.target;
    for (std::size_t at = row * columns; at < (row + 1) * columns; ++at)
      result.gradient[at] += std::exp(logits.elements[at] - whole.maximum) / whole.sum / by.gradient;
    const std::int64_t column =
        is_ignored ? -1 : own_target(logits, targets[row], row, is_mistake("foreign_target_in_gradient"));
    if (column >= 0 && !is_mistake("gradient_without_target"))
      result.gradient[row * columns + static_cast<std::size_t>(column)] -= 1 / by.gradient;
  }
  const bool has_rows = by.loss > 0 || is_mistake("divides_by_zero");
  result.loss = has_rows ? sum_of_losses / static_cast<double>(by.loss) : 0;
  return result;
}

}  // namespace lockstep::tensor_parallel
