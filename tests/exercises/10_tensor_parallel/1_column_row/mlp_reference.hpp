#pragma once
/// @file
/// The MLP of exercise 10.1 once more, for all ranks at once: right, or with one mistake that the judge compares with
/// what it has seen. All numbers are integers far below 2^24, so floats are exact and the order of sums does not
/// matter.
#include <cstdint>
#include <vector>

#include "10_tensor_parallel/1_column_row/column_row.hpp"

namespace lockstep::exercise {

struct MlpTrial {
  int ranks = 2;
  std::int64_t rows = 8, channels = 6, hidden = 12;
  std::uint64_t seed = 1;
};

struct MlpInputs {
  tensor_parallel::Mlp mlp;
  tensor_parallel::Matrix batch;
  tensor_parallel::Seeds seeds;
};

/// A mistake in forward(); its description completes "that is what comes out if ".
struct WrongForward {
  enum class Input { kRight, kDealt };
  enum class Bias { kRight, kOnEveryRank, kLeftOut, kAfterDropout };
  enum class WideBias { kRight, kLeftOut, kFirstPart, kOnRankZero };
  enum class HiddenMask { kRight, kSameForAll, kSeedPlusRank, kOwnWidth, kOwnRows, kLeftOut };
  enum class OutputMask { kRight, kSeedPlusRank, kOwnColumns, kLeftOut };
  enum class Relu { kRight, kLeftOut, kOfOutput };
  enum class Sum { kRight, kLeftOut, kMean };

  const char* what = "";
  Input input = Input::kRight;
  Bias bias = Bias::kRight;
  WideBias wide_bias = WideBias::kRight;
  HiddenMask hidden_mask = HiddenMask::kRight;
  OutputMask output_mask = OutputMask::kRight;
  Relu relu = Relu::kRight;
  Sum sum = Sum::kRight;
};

inline constexpr WrongForward kWrongForwards[] = {
    {.what = "the second bias is added by each rank before the sum, and so as often as there are ranks",
     .bias = WrongForward::Bias::kOnEveryRank},
    {.what = "the second bias is left out", .bias = WrongForward::Bias::kLeftOut},
    {.what = "the second bias is added after the dropout", .bias = WrongForward::Bias::kAfterDropout},
    {.what = "the first bias is left out", .wide_bias = WrongForward::WideBias::kLeftOut},
    {.what = "every rank adds the first elements of the first bias, and not those of its own channels",
     .wide_bias = WrongForward::WideBias::kFirstPart},
    {.what = "only rank 0 adds the first bias, of which each rank has a part of its own",
     .wide_bias = WrongForward::WideBias::kOnRankZero},
    {.what = "all ranks drop hidden channels with the mask of rank 0's",
     .hidden_mask = WrongForward::HiddenMask::kSameForAll},
    {.what = "the seed of the hidden dropout has the rank in it",
     .hidden_mask = WrongForward::HiddenMask::kSeedPlusRank},
    {.what = "the mask of the hidden channels is that of a matrix with this rank's channels only",
     .hidden_mask = WrongForward::HiddenMask::kOwnWidth},
    {.what = "the mask's rows are as long as this rank's share of the hidden channels, and not all_hidden",
     .hidden_mask = WrongForward::HiddenMask::kOwnRows},
    {.what = "the hidden channels have no dropout", .hidden_mask = WrongForward::HiddenMask::kLeftOut},
    {.what =
         "the seed of the output's dropout has the rank in it, so each rank drops other elements of the same output",
     .output_mask = WrongForward::OutputMask::kSeedPlusRank},
    {.what = "the output is dropped as if its columns began with this rank's first hidden channel",
     .output_mask = WrongForward::OutputMask::kOwnColumns},
    {.what = "the output has no dropout", .output_mask = WrongForward::OutputMask::kLeftOut},
    {.what = "relu is left out", .relu = WrongForward::Relu::kLeftOut},
    {.what = "relu is applied to the output and not to the hidden channels", .relu = WrongForward::Relu::kOfOutput},
    {.what = "each rank returns its own term of the sum", .sum = WrongForward::Sum::kLeftOut},
    {.what = "the terms are averaged over the ranks and not summed", .sum = WrongForward::Sum::kMean},
    {.what = "the ranks read different samples, so the terms of different sums are added up",
     .input = WrongForward::Input::kDealt},
};

/// Makes the inputs of a trial. The second bias has multiples of 60, so that up to 5 ranks can share it exactly.
[[nodiscard]] inline MlpInputs inputs_of(const MlpTrial& trial) {
  PhiloxSequence random(trial.seed, 101);
  const auto integers = [&](std::int64_t count, std::int64_t most, std::int64_t unit) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
      const auto drawn = static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(2 * most)));
      value = static_cast<float>(unit * (drawn < most ? drawn - most : drawn - most + 1));  // not 0
    }
    return values;
  };
  const std::int64_t channels = trial.channels, hidden = trial.hidden;
  MlpInputs inputs;
  inputs.mlp = {.wide = {channels, hidden, integers(channels * hidden, 3, 1)},
                .wide_bias = integers(hidden, 5, 1),
                .narrow = {hidden, channels, integers(hidden * channels, 3, 1)},
                .narrow_bias = integers(channels, 4, 60)};
  inputs.batch = {trial.rows, channels, integers(trial.rows * channels, 3, 1)};
  inputs.seeds = {.hidden = trial.seed + 1000, .output = trial.seed + 2000};
  return inputs;
}

/// Computes what each rank returns.
class MlpReference {
 public:
  MlpReference(const MlpTrial& trial, const MlpInputs& inputs, const WrongForward& wrong)
      : trial_(trial), inputs_(inputs), wrong_(wrong) {
    std::vector<tensor_parallel::Matrix> terms;
    for (int rank = 0; rank < trial.ranks; ++rank) terms.push_back(term(rank));
    tensor_parallel::Matrix sum = terms.front();
    // Fewer rows than the others: as many as all have.
    for (const tensor_parallel::Matrix& other : terms) sum.rows = std::min(sum.rows, other.rows);
    sum.elements.resize(static_cast<std::size_t>(sum.rows * sum.columns));
    for (std::size_t i = 0; i < sum.elements.size(); ++i) {
      for (std::size_t rank = 1; rank < terms.size(); ++rank) sum.elements[i] += terms[rank].elements[i];
      if (wrong.sum == WrongForward::Sum::kMean) sum.elements[i] /= static_cast<float>(trial.ranks);
    }
    for (int rank = 0; rank < trial.ranks; ++rank)
      outputs_.push_back(
          finished(rank, wrong.sum == WrongForward::Sum::kLeftOut ? terms[static_cast<std::size_t>(rank)] : sum));
  }

  /// By rank.
  [[nodiscard]] const std::vector<tensor_parallel::Matrix>& outputs() const noexcept { return outputs_; }

 private:
  // One rank's term of the sum.
  [[nodiscard]] tensor_parallel::Matrix term(int rank) const {
    const std::int64_t first = trial_.hidden * rank / trial_.ranks, end = trial_.hidden * (rank + 1) / trial_.ranks;
    const bool is_dealt = wrong_.input == WrongForward::Input::kDealt;
    tensor_parallel::Matrix input = inputs_.batch;
    if (is_dealt) input = tensor_parallel::Samples(inputs_.batch).of(rank, trial_.ranks);
    tensor_parallel::Matrix result = tensor_parallel::Matrix::zeros(input.rows, trial_.channels);
    for (std::int64_t i = 0; i < input.rows; ++i) {
      for (std::int64_t h = first; h < end; ++h) {
        const float channel = hidden_channel(input, i, h, first, end, rank);
        for (std::int64_t c = 0; c < trial_.channels; ++c) result.at(i, c) += channel * inputs_.mlp.narrow.at(h, c);
      }
    }
    if (wrong_.bias == WrongForward::Bias::kOnEveryRank) tensor_parallel::add_bias(result, inputs_.mlp.narrow_bias);
    return result;
  }

  [[nodiscard]] float hidden_channel(const tensor_parallel::Matrix& input, std::int64_t i, std::int64_t h,
                                     std::int64_t first, std::int64_t end, int rank) const {
    using HiddenMask = WrongForward::HiddenMask;
    float sum = 0;
    for (std::int64_t c = 0; c < input.columns; ++c) sum += input.at(i, c) * inputs_.mlp.wide.at(c, h);
    sum += wide_bias(h, first, rank);
    if (wrong_.relu == WrongForward::Relu::kRight) sum = std::max(sum, 0.0F);
    if (wrong_.hidden_mask == HiddenMask::kLeftOut) return sum;
    std::int64_t place = i * trial_.hidden + h;
    if (wrong_.hidden_mask == HiddenMask::kSameForAll) place -= first;
    if (wrong_.hidden_mask == HiddenMask::kOwnWidth) place = i * (end - first) + h - first;
    if (wrong_.hidden_mask == HiddenMask::kOwnRows) place = i * (end - first) + h;
    const auto shift = static_cast<std::uint64_t>(wrong_.hidden_mask == HiddenMask::kSeedPlusRank ? rank : 0);
    return mix64(inputs_.seeds.hidden + shift, static_cast<std::uint64_t>(place)) % 2 == 0 ? 0.0F : 2.0F * sum;
  }

  [[nodiscard]] float wide_bias(std::int64_t h, std::int64_t first, int rank) const {
    using WideBias = WrongForward::WideBias;
    const bool is_missing =
        wrong_.wide_bias == WideBias::kLeftOut || (wrong_.wide_bias == WideBias::kOnRankZero && rank != 0);
    if (is_missing) return 0;
    return inputs_.mlp.wide_bias[static_cast<std::size_t>(wrong_.wide_bias == WideBias::kFirstPart ? h - first : h)];
  }

  // The rest of the MLP, after the sum.
  [[nodiscard]] tensor_parallel::Matrix finished(int rank, tensor_parallel::Matrix sum) const {
    using Bias = WrongForward::Bias;
    using OutputMask = WrongForward::OutputMask;
    if (wrong_.bias == Bias::kRight) tensor_parallel::add_bias(sum, inputs_.mlp.narrow_bias);
    if (wrong_.relu == WrongForward::Relu::kOfOutput) tensor_parallel::relu(sum);
    const std::uint64_t seed =
        inputs_.seeds.output + static_cast<std::uint64_t>(wrong_.output_mask == OutputMask::kSeedPlusRank ? rank : 0);
    if (wrong_.output_mask == OutputMask::kOwnColumns) {
      tensor_parallel::drop(sum, seed, trial_.hidden * rank / trial_.ranks, trial_.hidden);
    } else if (wrong_.output_mask != OutputMask::kLeftOut) {
      tensor_parallel::drop(sum, seed, 0, sum.columns);
    }
    if (wrong_.bias == Bias::kAfterDropout) tensor_parallel::add_bias(sum, inputs_.mlp.narrow_bias);
    return sum;
  }

  MlpTrial trial_;
  const MlpInputs& inputs_;
  WrongForward wrong_;
  std::vector<tensor_parallel::Matrix> outputs_;
};

}  // namespace lockstep::exercise
