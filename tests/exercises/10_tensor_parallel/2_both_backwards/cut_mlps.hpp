#pragma once
/// @file
/// The cut MLPs of exercise 10.2 for all ranks at once: right, or with one mistake that the judge compares with what it
/// has seen. All numbers are integers far below 2^24, so floats are exact and the order of sums does not matter.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/philox.hpp"

namespace lockstep::exercise {

struct CutMlps {
  int ranks = 2;
  std::int64_t rows = 4, channels = 4;
  std::int64_t hidden = 3;  ///< Of each rank.
  std::size_t blocks = 2;
  std::uint64_t seed = 1;
};

using Values = std::vector<float>;

/// The inputs; weights by rank and block.
struct CutInputs {
  Values input, gradient;                         ///< [R, C]
  std::vector<std::vector<Values>> wide, narrow;  ///< [C, h] and [h, C]

  explicit CutInputs(const CutMlps& mlps) {
    PhiloxSequence random(mlps.seed, 103);
    const auto integers = [&](std::int64_t count, std::int64_t most) {
      Values values(static_cast<std::size_t>(count));
      for (float& value : values)
        value = static_cast<float>(
            static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(2 * most + 1))) - most);
      return values;
    };
    input = integers(mlps.rows * mlps.channels, 3);
    gradient = integers(mlps.rows * mlps.channels, 2);
    for (int rank = 0; rank < mlps.ranks; ++rank) {
      wide.emplace_back();
      narrow.emplace_back();
      for (std::size_t block = 0; block < mlps.blocks; ++block) {
        wide.back().push_back(integers(mlps.channels * mlps.hidden, 1));
        narrow.back().push_back(integers(mlps.hidden * mlps.channels, 1));
      }
    }
  }
};

/// A mistake in the two functions; its description completes "that is what comes out if ".
struct WrongPasses {
  enum class Pass { kIdentity, kSum, kMean, kOwnAndSum, kDivided, kNothing };

  const char* what = "";
  Pass copy_forward = Pass::kIdentity, copy_backward = Pass::kSum;
  Pass sum_forward = Pass::kSum, sum_backward = Pass::kIdentity;
};

inline constexpr WrongPasses kWrongPasses[] = {
    {.what = "copy_to_ranks() passes each rank's gradient on as it is, without the other ranks' terms",
     .copy_backward = WrongPasses::Pass::kIdentity},
    {.what = "copy_to_ranks() returns data, which no gradient passes: record() connects the result with the input",
     .copy_backward = WrongPasses::Pass::kNothing},
    {.what = "copy_to_ranks() averages the ranks' gradients, which are terms of a sum",
     .copy_backward = WrongPasses::Pass::kMean},
    {.what = "copy_to_ranks() adds this rank's gradient to a sum that contains it already",
     .copy_backward = WrongPasses::Pass::kOwnAndSum},
    {.what = "copy_to_ranks() sums in forward too, although all ranks have the same input",
     .copy_forward = WrongPasses::Pass::kSum},
    {.what = "sum_over_ranks() sums in backward too, although all ranks have the same gradient",
     .sum_backward = WrongPasses::Pass::kSum},
    {.what = "sum_over_ranks() divides the gradient by the number of ranks",
     .sum_backward = WrongPasses::Pass::kDivided},
    {.what = "sum_over_ranks() returns this rank's term alone", .sum_forward = WrongPasses::Pass::kIdentity},
    {.what = "sum_over_ranks() averages the terms", .sum_forward = WrongPasses::Pass::kMean},
    {.what = "the two functions are swapped",
     .copy_forward = WrongPasses::Pass::kSum,
     .copy_backward = WrongPasses::Pass::kIdentity,
     .sum_forward = WrongPasses::Pass::kIdentity,
     .sum_backward = WrongPasses::Pass::kSum},
    {.what = "the two backward passes are swapped",
     .copy_backward = WrongPasses::Pass::kIdentity,
     .sum_backward = WrongPasses::Pass::kSum},
};

/// Everything that can be seen of a rank.
struct CutResult {
  Values output, d_input;
  std::vector<Values> d_wide, d_narrow;  ///< By block.

  bool operator==(const CutResult&) const = default;
};

/// Computes all ranks' results.
class CutReference {
 public:
  CutReference(const CutMlps& mlps, const CutInputs& inputs, const WrongPasses& wrong)
      : mlps_(mlps), inputs_(inputs), wrong_(wrong), results_(ranks()) {
    std::vector<Values> streams(ranks(), inputs.input);
    for (std::size_t block = 0; block < mlps.blocks; ++block) forward(block, streams);
    for (std::size_t r = 0; r < ranks(); ++r) {
      results_[r].output = streams[r];
      results_[r].d_wide.resize(mlps.blocks);
      results_[r].d_narrow.resize(mlps.blocks);
    }
    std::vector<Values> gradients(ranks(), inputs.gradient);
    for (std::size_t block = mlps.blocks; block-- > 0;) backward(block, gradients);
    for (std::size_t r = 0; r < ranks(); ++r) results_[r].d_input = gradients[r];
  }

  /// By rank.
  [[nodiscard]] const std::vector<CutResult>& results() const noexcept { return results_; }

 private:
  using Pass = WrongPasses::Pass;

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(mlps_.ranks); }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(mlps_.rows); }
  [[nodiscard]] std::size_t channels() const { return static_cast<std::size_t>(mlps_.channels); }
  [[nodiscard]] std::size_t hidden() const { return static_cast<std::size_t>(mlps_.hidden); }

  // The result of one of the functions for all ranks' values.
  [[nodiscard]] static std::vector<Values> passed(const std::vector<Values>& values, Pass pass) {
    if (pass == Pass::kIdentity) return values;
    std::vector<Values> result = values;
    for (std::size_t i = 0; i < values[0].size(); ++i) {
      float sum = 0;
      for (const Values& own : values) sum += own[i];
      if (pass == Pass::kMean) sum /= static_cast<float>(values.size());
      for (std::size_t r = 0; r < values.size(); ++r)
        result[r][i] = pass == Pass::kOwnAndSum ? values[r][i] + sum
                       : pass == Pass::kNothing ? 0
                       : pass == Pass::kDivided ? values[r][i] / static_cast<float>(values.size())
                                                : sum;
    }
    return result;
  }

  void forward(std::size_t block, std::vector<Values>& streams) {
    const std::vector<Values> copied = passed(streams, wrong_.copy_forward);
    std::vector<Values> terms;
    activations_.emplace_back();
    copied_.push_back(copied);
    for (std::size_t r = 0; r < ranks(); ++r) {
      Values activation(rows() * hidden()), term(rows() * channels());
      for (std::size_t i = 0; i < rows(); ++i) {
        for (std::size_t h = 0; h < hidden(); ++h) {
          float sum = 0;
          for (std::size_t c = 0; c < channels(); ++c)
            sum += copied[r][i * channels() + c] * inputs_.wide[r][block][c * hidden() + h];
          activation[i * hidden() + h] = std::max(sum, 0.0F);
          for (std::size_t c = 0; c < channels(); ++c)
            term[i * channels() + c] += std::max(sum, 0.0F) * inputs_.narrow[r][block][h * channels() + c];
        }
      }
      activations_.back().push_back(std::move(activation));
      terms.push_back(std::move(term));
    }
    const std::vector<Values> sums = passed(terms, wrong_.sum_forward);
    for (std::size_t r = 0; r < ranks(); ++r)
      for (std::size_t i = 0; i < sums[r].size(); ++i) streams[r][i] += sums[r][i];
  }

  void backward(std::size_t block, std::vector<Values>& gradients) {
    const std::vector<Values> of_terms = passed(gradients, wrong_.sum_backward);
    std::vector<Values> of_copies;
    for (std::size_t r = 0; r < ranks(); ++r) of_copies.push_back(backward_of_rank(block, r, of_terms[r]));
    const std::vector<Values> of_inputs = passed(of_copies, wrong_.copy_backward);
    for (std::size_t r = 0; r < ranks(); ++r)
      for (std::size_t i = 0; i < of_inputs[r].size(); ++i) gradients[r][i] += of_inputs[r][i];
  }

  // Notes the weights' gradients. @return  That of the copied input.
  Values backward_of_rank(std::size_t block, std::size_t rank, const Values& of_term) {
    const Values &activation = activations_[block][rank], &input = copied_[block][rank];
    const Values &wide = inputs_.wide[rank][block], &narrow = inputs_.narrow[rank][block];
    Values d_wide(channels() * hidden()), d_narrow(hidden() * channels()), of_copy(rows() * channels());
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t h = 0; h < hidden(); ++h) {
        float of_hidden = 0;
        for (std::size_t c = 0; c < channels(); ++c) {
          of_hidden += of_term[i * channels() + c] * narrow[h * channels() + c];
          d_narrow[h * channels() + c] += activation[i * hidden() + h] * of_term[i * channels() + c];
        }
        if (activation[i * hidden() + h] <= 0) continue;
        for (std::size_t c = 0; c < channels(); ++c) {
          d_wide[c * hidden() + h] += input[i * channels() + c] * of_hidden;
          of_copy[i * channels() + c] += wide[c * hidden() + h] * of_hidden;
        }
      }
    }
    results_[rank].d_wide[block] = std::move(d_wide);
    results_[rank].d_narrow[block] = std::move(d_narrow);
    return of_copy;
  }

  CutMlps mlps_;
  const CutInputs& inputs_;
  WrongPasses wrong_;
  std::vector<std::vector<Values>> activations_, copied_;  // by block and rank
  std::vector<CutResult> results_;
};

}  // namespace lockstep::exercise
