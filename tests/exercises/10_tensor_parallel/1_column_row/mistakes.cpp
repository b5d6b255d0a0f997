#include <algorithm>

#include "10_tensor_parallel/1_column_row/column_row.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"bias_on_every_rank", "each rank adds the second bias to its term, so it counts once for every rank",
     "Add it after the sum, or let a single rank add it before."},
    {"bias_left_out", "the second bias is nowhere", "Add it once: after the sum, or on a single rank before it."},
    {"bias_after_dropout", "the second bias is added after the dropout, which leaves it out",
     "The order of the uncut MLP: product, bias, dropout."},
    {"first_bias_part_zero", "every rank has the first elements of the first bias",
     "Cut the first bias like the columns of the first matrix."},
    {"first_bias_on_rank_zero", "only rank 0 adds the first bias, as if it were the second",
     "The hidden channels are cut, so each rank adds the bias of its own."},
    {"reads_own_samples", "each rank reads other samples, as in data parallelism",
     "All ranks of the group work on the same samples: there is one reader, samples.of(0, 1)."},
    {"one_mask_for_all_shards", "all ranks drop their hidden channels with the same mask",
     "Say where this rank's columns begin: share.first_hidden of share.all_hidden."},
    {"mask_of_own_width", "the mask of the hidden channels counts places in this rank's part alone",
     "The last argument of drop() is the whole matrix's number of columns."},
    {"mask_rows_too_short", "the mask of the hidden channels begins at the right column, but has too short rows",
     "The last argument of drop() is all_hidden: columns of the whole matrix."},
    {"hidden_seed_plus_rank", "each rank has a different seed for the hidden dropout",
     "drop() makes different masks from the columns' places already; the seed is the same everywhere."},
    {"output_seed_plus_rank", "each rank drops other elements of the output, so the ranks' copies differ",
     "The output is the same on all ranks, and so is its mask: the seed without the rank, the columns from 0."},
    {"output_not_dropped", "the output has no dropout", "drop(output, seeds.output, 0, output.columns)"},
    {"relu_after_sum", "relu is applied to the output and not to the hidden channels",
     "It comes between the two products."},
    {"never_summed", "each rank returns its own term of the sum", "all_reduce() the second product."},
    {"averages", "the terms are averaged, as gradients are in data parallelism",
     "The ranks have different terms of one sum: do not divide."},
    {"not_awaited", "the all-reduce is not waited for", "Call synchronize() before you use the sum."},
    {"gathers_hidden", "the hidden channels of all ranks are collected before the second product",
     "The rows of the second matrix that a rank keeps need this rank's hidden channels only."},
    {"sums_row_by_row", "each row of the output has an all-reduce of its own", "The output is one block of memory."},
    {"nothing_is_cut", "every rank keeps the whole MLP", "Copy only the columns and rows of this rank's channels."},
    {"first_by_rows", "the first matrix is cut by rows, so the activation would need a sum before it",
     "Cut it by columns: then a rank computes its hidden channels completely."},
    {"second_by_columns", "the second matrix is cut by columns, which needs all hidden channels on each rank",
     "Cut it by rows: those of this rank's hidden channels."},
    {"every_nth_channel", "a rank has every N-th channel, not neighbours", "From H * r / N up to H * (r + 1) / N."},
    {"forgets_the_rest", "H / N is rounded down on every rank, so the last channels belong to nobody",
     "End where the next rank begins: H * (r + 1) / N."},
    {"same_part_everywhere", "every rank has rank 0's part", "The part begins at H * rank / ranks."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_mistake;

namespace {

// The hidden channels of a rank.
std::vector<std::int64_t> channels_of(std::int64_t all, int rank, int ranks) {
  std::vector<std::int64_t> channels;
  if (is_mistake("every_nth_channel")) {
    for (std::int64_t h = rank; h < all; h += ranks) channels.push_back(h);
    return channels;
  }
  std::int64_t first = all * rank / ranks, end = all * (rank + 1) / ranks;
  if (is_mistake("forgets_the_rest")) {
    first = all / ranks * rank;
    end = first + all / ranks;
  }
  if (is_mistake("same_part_everywhere")) {
    first = 0;
    end = all / ranks;
  }
  if (is_mistake("nothing_is_cut")) {
    first = 0;
    end = all;
  }
  for (std::int64_t h = first; h < end; ++h) channels.push_back(h);
  return channels;
}

// Neighbouring rows, or columns, of a matrix.
Matrix rows_of(const Matrix& whole, int part, int parts) {
  const std::int64_t first = whole.rows * part / parts, end = whole.rows * (part + 1) / parts;
  return {end - first,
          whole.columns,
          {whole.elements.begin() + first * whole.columns, whole.elements.begin() + end * whole.columns}};
}
Matrix columns_of(const Matrix& whole, int part, int parts) {
  const std::int64_t first = whole.columns * part / parts, end = whole.columns * (part + 1) / parts;
  Matrix result = Matrix::zeros(whole.rows, end - first);
  for (std::int64_t i = 0; i < result.rows; ++i)
    for (std::int64_t j = 0; j < result.columns; ++j) result.at(i, j) = whole.at(i, first + j);
  return result;
}

// All hidden channels, of which each rank fills in its own; a rank goes on with its own.
void gather(Matrix& hidden, const MlpShare& share, Collectives& group) {
  Matrix all = Matrix::zeros(hidden.rows, share.all_hidden);
  for (std::int64_t i = 0; i < hidden.rows; ++i)
    for (std::int64_t j = 0; j < hidden.columns; ++j) all.at(i, share.first_hidden + j) = hidden.at(i, j);
  group.all_reduce(all.elements).synchronize();
  for (std::int64_t i = 0; i < hidden.rows; ++i)
    for (std::int64_t j = 0; j < hidden.columns; ++j) hidden.at(i, j) = all.at(i, share.first_hidden + j);
}

void sum_over_ranks(Matrix& terms, Collectives& group) {
  if (is_mistake("never_summed")) return;
  if (is_mistake("sums_row_by_row")) {
    const auto columns = static_cast<std::size_t>(terms.columns);
    for (std::size_t i = 0; i < static_cast<std::size_t>(terms.rows); ++i)
      group.all_reduce(std::span(terms.elements).subspan(i * columns, columns)).synchronize();
    return;
  }
  exercise::Work work = group.all_reduce(terms.elements);
  if (!is_mistake("not_awaited")) work.synchronize();
  if (!is_mistake("averages")) return;
  for (float& element : terms.elements) element /= static_cast<float>(group.world_size());
}

void drop_hidden(Matrix& hidden, const MlpShare& share, std::uint64_t seed, int rank) {
  if (is_mistake("hidden_seed_plus_rank")) seed += static_cast<std::uint64_t>(rank);
  if (is_mistake("mask_of_own_width")) {
    drop(hidden, seed, 0, hidden.columns);
    return;
  }
  const std::int64_t columns = is_mistake("mask_rows_too_short") ? hidden.columns : share.all_hidden;
  drop(hidden, seed, is_mistake("one_mask_for_all_shards") ? 0 : share.first_hidden, columns);
}

}  // namespace

MlpShare share_of(const Mlp& whole, int rank, int ranks) {
  const std::vector<std::int64_t> channels = channels_of(whole.wide.columns, rank, ranks);
  const auto count = static_cast<std::int64_t>(channels.size());
  MlpShare share{.first_hidden = channels.empty() ? 0 : channels.front(),
                 .all_hidden = whole.wide.columns,
                 .wide = Matrix::zeros(whole.wide.rows, count),
                 .wide_bias = {},
                 .narrow = Matrix::zeros(count, whole.narrow.columns),
                 .narrow_bias = whole.narrow_bias};
  for (std::int64_t h = 0; h < count; ++h) {
    const std::int64_t channel = channels[static_cast<std::size_t>(h)];
    for (std::int64_t c = 0; c < whole.wide.rows; ++c) {
      share.wide.at(c, h) = whole.wide.at(c, channel);
      share.narrow.at(h, c) = whole.narrow.at(channel, c);
    }
    share.wide_bias.push_back(
        whole.wide_bias[static_cast<std::size_t>(is_mistake("first_bias_part_zero") ? h : channel)]);
  }
  if (is_mistake("first_by_rows")) share.wide = rows_of(whole.wide, rank, ranks);
  if (is_mistake("second_by_columns")) share.narrow = columns_of(whole.narrow, rank, ranks);
  return share;
}

Matrix forward(const Samples& samples, const MlpShare& share, const Seeds& seeds, Collectives& group) {
  const Matrix input =
      is_mistake("reads_own_samples") ? samples.of(group.rank(), group.world_size()) : samples.of(0, 1);
  if (is_mistake("first_by_rows") || is_mistake("second_by_columns")) return input;
  Matrix hidden = product(input, share.wide);
  if (!is_mistake("first_bias_on_rank_zero") || group.rank() == 0) add_bias(hidden, share.wide_bias);
  if (!is_mistake("relu_after_sum")) relu(hidden);
  drop_hidden(hidden, share, seeds.hidden, group.rank());
  if (is_mistake("gathers_hidden")) gather(hidden, share, group);
  Matrix output = product(hidden, share.narrow);
  if (is_mistake("bias_on_every_rank")) add_bias(output, share.narrow_bias);
  sum_over_ranks(output, group);
  const bool is_due =
      !is_mistake("bias_on_every_rank") && !is_mistake("bias_left_out") && !is_mistake("bias_after_dropout");
  if (is_due) add_bias(output, share.narrow_bias);
  if (is_mistake("relu_after_sum")) relu(output);
  const auto shift = static_cast<std::uint64_t>(is_mistake("output_seed_plus_rank") ? group.rank() : 0);
  if (!is_mistake("output_not_dropped")) drop(output, seeds.output + shift, 0, output.columns);
  if (is_mistake("bias_after_dropout")) add_bias(output, share.narrow_bias);
  return output;
}

}  // namespace lockstep::tensor_parallel
