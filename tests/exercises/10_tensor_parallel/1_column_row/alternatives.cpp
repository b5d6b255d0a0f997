#include "exercise/alternatives.hpp"

#include "10_tensor_parallel/1_column_row/column_row.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"bias_with_the_last_rank", "the last rank alone keeps the second bias, and adds it to its term before the sum"},
    {"everybody_a_part_of_the_bias", "each rank adds 1/N of the second bias before the sum"},
    {"drops_before_the_sum", "every rank drops its term like the output, which is linear; the bias is on rank 0"},
    {"channel_by_channel", "no product is used: each hidden channel adds its part to the output"},
    {"alone_sends_nothing", "one rank by itself issues no all-reduce"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_alternative;

namespace {

// One hidden channel of all samples after another, and what each adds to the output.
Matrix term_by_channel(const Matrix& input, const MlpShare& share, std::uint64_t seed) {
  Matrix term = Matrix::zeros(input.rows, input.columns);
  for (std::int64_t h = share.wide.columns - 1; h >= 0; --h) {
    Matrix channel = Matrix::zeros(input.rows, 1);
    for (std::int64_t i = 0; i < input.rows; ++i) {
      float sum = share.wide_bias[static_cast<std::size_t>(h)];
      for (std::int64_t c = 0; c < input.columns; ++c) sum += input.at(i, c) * share.wide.at(c, h);
      channel.at(i, 0) = sum > 0 ? sum : 0;
    }
    drop(channel, seed, share.first_hidden + h, share.all_hidden);
    for (std::int64_t i = 0; i < input.rows; ++i)
      for (std::int64_t c = 0; c < input.columns; ++c) term.at(i, c) += channel.at(i, 0) * share.narrow.at(h, c);
  }
  return term;
}

Matrix term_by_products(const Matrix& input, const MlpShare& share, std::uint64_t seed) {
  Matrix hidden = product(input, share.wide);
  add_bias(hidden, share.wide_bias);
  relu(hidden);
  drop(hidden, seed, share.first_hidden, share.all_hidden);
  return product(hidden, share.narrow);
}

std::vector<float> kept_bias(const Mlp& whole, int rank, int ranks) {
  std::vector<float> bias = whole.narrow_bias;
  if (is_alternative("everybody_a_part_of_the_bias")) {
    for (float& element : bias) element /= static_cast<float>(ranks);
    return bias;
  }
  const int owner = is_alternative("bias_with_the_last_rank") ? ranks - 1 : 0;
  if (rank != owner) bias.clear();
  return bias;
}

}  // namespace

MlpShare share_of(const Mlp& whole, int rank, int ranks) {
  MlpShare share{.first_hidden = whole.wide.columns * rank / ranks, .all_hidden = whole.wide.columns};
  const std::int64_t end = whole.wide.columns * (rank + 1) / ranks;
  share.wide = {whole.wide.rows, end - share.first_hidden, {}};
  for (std::int64_t c = 0; c < whole.wide.rows; ++c) {
    const auto row = whole.wide.elements.begin() + c * whole.wide.columns;
    share.wide.elements.insert(share.wide.elements.end(), row + share.first_hidden, row + end);
  }
  const auto rows = whole.narrow.elements.begin();
  share.narrow = {end - share.first_hidden,
                  whole.narrow.columns,
                  {rows + share.first_hidden * whole.narrow.columns, rows + end * whole.narrow.columns}};
  share.wide_bias.assign(whole.wide_bias.begin() + share.first_hidden, whole.wide_bias.begin() + end);
  share.narrow_bias = kept_bias(whole, rank, ranks);
  return share;
}

Matrix forward(const Samples& samples, const MlpShare& share, const Seeds& seeds, Collectives& group) {
  const Matrix input = samples.of(0, 1);
  Matrix output = is_alternative("channel_by_channel") ? term_by_channel(input, share, seeds.hidden)
                                                       : term_by_products(input, share, seeds.hidden);
  if (!share.narrow_bias.empty()) add_bias(output, share.narrow_bias);
  if (is_alternative("drops_before_the_sum")) drop(output, seeds.output, 0, output.columns);
  if (group.world_size() > 1 || !is_alternative("alone_sends_nothing")) group.all_reduce(output.elements).synchronize();
  if (!is_alternative("drops_before_the_sum")) drop(output, seeds.output, 0, output.columns);
  return output;
}

}  // namespace lockstep::tensor_parallel
