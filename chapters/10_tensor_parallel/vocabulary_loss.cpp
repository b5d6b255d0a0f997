#include "10_tensor_parallel/vocabulary_loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"
#include "kernels/embedding.hpp"
#include "kernels/loss.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::tensor_parallel {
namespace {

// The statistics of some of the columns of a row, as kernels::cross_entropy_statistics() writes them.
template <typename T>
struct RowStatistics {
  T largest, sum, target;
};

// Those of all ranks together: every sum refers to its own largest logit, and is converted to the largest of all.
template <typename T>
RowStatistics<T> joined(std::span<const RowStatistics<T>> all, std::size_t row, std::size_t rows) {
  RowStatistics<T> whole = all[row];
  for (std::size_t i = row + rows; i < all.size(); i += rows) whole.largest = std::max(whole.largest, all[i].largest);
  double sum = 0, target = 0;
  for (std::size_t i = row; i < all.size(); i += rows) {
    sum += static_cast<double>(all[i].sum) * std::exp(static_cast<double>(all[i].largest - whole.largest));
    target += static_cast<double>(all[i].target);  // 0 on all ranks but one
  }
  whole.sum = static_cast<T>(sum);
  whole.target = static_cast<T>(target);
  return whole;
}

// Statistics of the whole rows, from those of all ranks.
struct WholeRows {
  Tensor statistics;  // [R, 3], of the device of the logits
  double losses = 0;  // of all rows together
};

template <typename T>
WholeRows join(const Tensor& gathered, const Tensor& targets) {
  const std::span<const std::int32_t> ids = targets.span<std::int32_t>();
  const auto* const from = reinterpret_cast<const RowStatistics<T>*>(gathered.span<T>().data());
  const std::span<const RowStatistics<T>> all(from, static_cast<std::size_t>(gathered.count() / 3));
  WholeRows whole{Tensor::zeros({targets.count(), 3}, gathered.dtype()), 0};
  auto* const to = reinterpret_cast<RowStatistics<T>*>(whole.statistics.span<T>().data());
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (ids[row] == kernels::kIgnoredTarget) continue;
    to[row] = joined(all, row, ids.size());
    whole.losses += std::log(static_cast<double>(to[row].sum)) +
                    (static_cast<double>(to[row].largest) - static_cast<double>(to[row].target));
  }
  return whole;
}

// Gathers every rank's statistics. Every rank joins them in the same order: the loss has equal bits.
WholeRows rows_of_all_ranks(const Tensor& logits, const Tensor& targets, const kernels::VocabularyPart& part,
                            Group& group) {
  const Tensor own = Tensor::empty({targets.count(), 3}, kernels::accumulation_dtype(logits.dtype()), logits.device());
  kernels::cross_entropy_statistics(own, logits, targets.to(logits.device()), part);
  const Tensor all = Tensor::empty({group.world_size() * own.count()}, own.dtype(), own.device());
  group
      .all_gather(comm::buffer_of(all), comm::buffer_of(own),
                  {.run_on = comm::RunOn::kCaller, .tag = "statistics of logits"})
      .synchronize();
  const Tensor gathered = all.to(Device{}), ids = targets.to(Device{});
  WholeRows whole = own.dtype() == DType::kFloat64 ? join<double>(gathered, ids) : join<float>(gathered, ids);
  whole.statistics = whole.statistics.to(logits.device());
  return whole;
}

Tensor make_scalar(double value, DType dtype) {
  if (dtype == DType::kFloat64) return Tensor::from<double>(std::span(&value, 1), {});
  const auto rounded = static_cast<float>(value);
  return Tensor::from<float>(std::span(&rounded, 1), {});
}

// The sum of the rows of tokens and positions, of the tokens that this rank has.
Variable embed_own(const Tensor& given, const Variable& table, const Variable& positions,
                   const kernels::VocabularyPart& part) {
  const Tensor rows = table.value(), tokens = given.to(rows.device());  // [V/t, C], [B, T]
  Tensor output = Tensor::empty({tokens.shape()[0], tokens.shape()[1], rows.shape()[1]},
                                autograd::activation_dtype(rows.dtype()), rows.device());  // [B, T, C]
  kernels::embedding_forward(output, tokens, rows, positions.is_defined() ? positions.value() : Tensor(), part);
  return autograd::record(
      output, {table, positions},
      [tokens, table = table.without_value(), positions = positions.without_value(), part](const Tensor& d_output) {
        if (table.requires_grad()) {
          const auto [d_table, write] = table.begin_gradient_write();
          kernels::embedding_token_gradient(d_table, write, d_output, tokens, part);
        }
        if (positions.requires_grad()) {
          const auto [d_positions, write] = positions.begin_gradient_write();
          kernels::embedding_position_gradient(d_positions, write, d_output);
        }
      });
}

}  // namespace

Variable vocabulary_cross_entropy(const Variable& given, const Variable& rows, const kernels::VocabularyPart& part,
                                  const Tensor& targets, Group& group) {
  const Variable hidden = autograd::product_operand(given);
  const Tensor x = hidden.value();                                                                   // [..., C]
  const Tensor weight = autograd::weight_for_product(rows, x.dtype());                               // [V/t, C]
  const Tensor logits = Tensor::empty({targets.count(), weight.shape()[0]}, x.dtype(), x.device());  // [R, V/t]
  kernels::linear_forward(logits, x, weight, kernels::Transpose::kYes, Tensor());

  const WholeRows whole = rows_of_all_ranks(logits, targets, part, group);
  const auto counted = static_cast<double>(autograd::target_count(targets));
  const double scale = counted == 0 ? 0.0 : 1.0 / counted;
  return autograd::record(
      make_scalar(whole.losses * scale, whole.statistics.dtype()), {hidden, rows},
      [hidden, rows = rows.without_value(), saved = autograd::SavedWeight(rows, weight), logits,
       statistics = whole.statistics, ids = targets.to(x.device()), part, scale](const Tensor& d_loss) {
        kernels::cross_entropy_gradient(logits, statistics, ids, part, scale * d_loss.item());
        const Tensor& d_logits = logits;
        if (hidden.requires_grad()) {
          const auto [d_hidden, write] = hidden.begin_gradient_write();
          kernels::linear_input_gradient(d_hidden, write, d_logits, saved.get(), kernels::Transpose::kYes);
        }
        if (rows.requires_grad()) {
          const auto [d_rows, write] = rows.begin_gradient_write();
          kernels::linear_weight_gradient(d_rows, write, hidden.value(), d_logits, kernels::Transpose::kYes);
        }
      });
}

VocabularyParallelTable::VocabularyParallelTable(const nn::GptConfig& config, nn::Owner owner,
                                                 const nn::InitScope& scope, Group& group, RowLayout rows)
    : group_(group), rows_(rows) {
  require(config.vocabulary_size >= group.world_size(), "tensor parallel: a vocabulary of ", config.vocabulary_size,
          " tokens for ", group.world_size(), " ranks");
  const Range own = share_of(config.vocabulary_size, group);
  part_ = {.first = own.begin, .whole = config.vocabulary_size};
  const Slice slice = Slice::of_rows({config.vocabulary_size, config.channels}, own);
  weight_ = register_part("weight", scope.normal("weight", slice, 0.02), slice, owner);
}

Variable VocabularyParallelTable::embed(const Tensor& tokens, const Variable& positions) const {
  return leaving(embed_own(tokens, weight_, positions, part_));
}

Variable VocabularyParallelTable::loss(const Variable& hidden, const Tensor& targets) const {
  return loss_of_whole(entering(hidden), targets);
}

Variable VocabularyParallelTable::leaving(const Variable& partial) const {
  return rows_ == RowLayout::kDivided ? scatter_sum(partial, group_) : sum_over_ranks(partial, group_);
}

Variable VocabularyParallelTable::entering(const Variable& hidden) const {
  return rows_ == RowLayout::kDivided ? gather_rows(hidden, group_) : copy_to_ranks(hidden, group_);
}

Variable VocabularyParallelTable::loss_of_whole(const Variable& hidden, const Tensor& targets) const {
  if (group_.world_size() == 1) return autograd::head_cross_entropy(hidden, weight_, targets);
  return vocabulary_cross_entropy(hidden, weight_, part_, targets, group_);
}

}  // namespace lockstep::tensor_parallel
