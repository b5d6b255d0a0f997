#include "exercise/alternatives.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "10_tensor_parallel/3_vocabulary_loss/vocabulary_loss.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"maximum_then_sums", "the maxima are gathered first; then one all-reduce has the sums and the targets' logits"},
    {"logarithms", "each rank sends the logarithm of its own sum of exponentials, and no maximum"},
    {"doubles_as_integers", "two float64 for each row travel as bits in gather_rows(); one pass over the logits"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_alternative;

namespace {

// log(exp(a) + exp(b))
double log_of_sum(double a, double b) {
  const double larger = std::max(a, b);
  return std::isinf(larger) ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

struct RowTerms {
  double log_sum = -std::numeric_limits<double>::infinity();
  double target = 0;
};

RowTerms own_terms(const LogitsShare& logits, std::size_t row, std::int32_t target) {
  RowTerms terms;
  for (std::int64_t column = 0; column < logits.columns; ++column) {
    const double logit =
        logits.elements[row * static_cast<std::size_t>(logits.columns) + static_cast<std::size_t>(column)];
    terms.log_sum = log_of_sum(terms.log_sum, logit);
    if (logits.first_column + column == target) terms.target = logit;
  }
  return terms;
}

std::vector<RowTerms> by_logarithms(const std::vector<RowTerms>& own, ShardCollectives& group) {
  std::vector<float> mine, all(2 * own.size() * static_cast<std::size_t>(group.world_size()));
  for (const RowTerms& row : own) mine.push_back(static_cast<float>(row.target));
  for (const RowTerms& row : own) mine.push_back(static_cast<float>(row.log_sum));
  group.all_gather(all, mine).synchronize();
  std::vector<RowTerms> whole(own.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    RowTerms& row = whole[i % own.size()];
    if (i / own.size() % 2 == 0) {
      row.target += static_cast<double>(all[i]);
    } else {
      row.log_sum = log_of_sum(row.log_sum, static_cast<double>(all[i]));
    }
  }
  return whole;
}

std::vector<RowTerms> by_integers(const std::vector<RowTerms>& own, ShardCollectives& group) {
  std::vector<std::int64_t> mine;
  for (const RowTerms& row : own)
    mine.insert(mine.end(), {std::bit_cast<std::int64_t>(row.log_sum), std::bit_cast<std::int64_t>(row.target)});
  const std::vector<std::int64_t> all = group.gather_rows(mine);
  std::vector<RowTerms> whole(own.size());
  for (std::size_t i = 0; i < all.size(); i += 2) {
    RowTerms& row = whole[i / 2 % own.size()];
    row.log_sum = log_of_sum(row.log_sum, std::bit_cast<double>(all[i]));
    row.target += std::bit_cast<double>(all[i + 1]);
  }
  return whole;
}

// The row's maximum first, over all ranks, and then sums that are relative to it.
std::vector<RowTerms> by_sums(const LogitsShare& logits, const std::vector<RowTerms>& own, ShardCollectives& group) {
  const std::size_t rows = own.size(), columns = static_cast<std::size_t>(logits.columns);
  std::vector<float> maxima, all(rows * static_cast<std::size_t>(group.world_size()));
  for (std::size_t row = 0; row < rows; ++row)
    maxima.push_back(*std::ranges::max_element(logits.elements.subspan(row * columns, columns)));
  group.all_gather(all, maxima).synchronize();
  for (std::size_t i = 0; i < all.size(); ++i) maxima[i % rows] = std::max(maxima[i % rows], all[i]);
  std::vector<double> sums(2 * rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const float logit : logits.elements.subspan(row * columns, columns))
      sums[row] += std::exp(logit - maxima[row]);
    sums[rows + row] = own[row].target;
  }
  group.all_reduce(std::span<double>(sums)).synchronize();
  std::vector<RowTerms> whole(rows);
  for (std::size_t row = 0; row < rows; ++row)
    whole[row] = {std::log(sums[row]) + static_cast<double>(maxima[row]), sums[rows + row]};
  return whole;
}

}  // namespace

VocabularyLoss vocabulary_cross_entropy(const LogitsShare& logits, std::span<const std::int32_t> targets,
                                        ShardCollectives& group) {
  std::vector<RowTerms> own;
  for (std::size_t row = 0; row < targets.size(); ++row) own.push_back(own_terms(logits, row, targets[row]));
  const std::vector<RowTerms> whole = is_alternative("maximum_then_sums") ? by_sums(logits, own, group)
                                      : is_alternative("logarithms")      ? by_logarithms(own, group)
                                                                          : by_integers(own, group);
  VocabularyLoss result;
  double counted = 0;
  for (const std::int32_t target : targets) counted += target == kIgnored ? 0 : 1;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const bool counts = targets[row] != kIgnored;
    if (counts) result.loss += whole[row].log_sum - whole[row].target;
    for (std::int64_t column = 0; column < logits.columns; ++column) {
      const double logit = logits.elements[result.gradient.size()];
      const double probability = std::exp(logit - whole[row].log_sum);
      const double is_target = logits.first_column + column == targets[row] ? 1 : 0;
      result.gradient.push_back(counts ? static_cast<float>((probability - is_target) / counted) : 0.0F);
    }
  }
  if (counted > 0) result.loss /= counted;
  return result;
}

}  // namespace lockstep::tensor_parallel
