#pragma once
/// @file
/// The training run of exercise 09.2 once more, for all ranks at once: right, or with one mistake that the judge
/// compares with what it has seen.
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "toy_training.hpp"

namespace lockstep::exercise {

/// A mistake in the step; its description completes "that is what comes out if ".
struct WrongStep {
  enum class Mean { kRight, kSum, kTwice, kOwn };
  enum class Norm { kRight, kLocal, kWholeBuckets, kSumOfNorms, kMeanOfSquares, kNoRoot, kInFloat };
  enum class Clip { kRight, kNever, kAlways };
  enum class Gather { kRight, kNever, kOldValues };

  const char* what = "";
  Mean mean = Mean::kRight;
  Norm norm = Norm::kRight;
  Clip clip = Clip::kRight;
  Gather gather = Gather::kRight;
};

inline constexpr WrongStep kWrongSteps[] = {
    {.what = "gradients are summed over the ranks and not averaged", .mean = WrongStep::Mean::kSum},
    {.what = "gradients are divided by the number of ranks once more, although ReduceOp::kMean has done that",
     .mean = WrongStep::Mean::kTwice},
    {.what = "each rank updates its part with the gradients of its own samples", .mean = WrongStep::Mean::kOwn},
    {.what = "each rank clips by the norm of its own part", .norm = WrongStep::Norm::kLocal},
    {.what = "the squares of whole buckets are added up, which hold means in this rank's part only",
     .norm = WrongStep::Norm::kWholeBuckets},
    {.what = "the ranks' norms are added up, not their squares", .norm = WrongStep::Norm::kSumOfNorms},
    {.what = "the sum of squares is divided by the number of ranks, although each element counts once",
     .norm = WrongStep::Norm::kMeanOfSquares},
    {.what = "the root of the sum of squares is missing", .norm = WrongStep::Norm::kNoRoot},
    {.what = "the squares are added up in float32", .norm = WrongStep::Norm::kInFloat},
    {.what = "gradients are never clipped, or only after the update", .clip = WrongStep::Clip::kNever},
    {.what = "gradients are also made longer if their norm is below the limit", .clip = WrongStep::Clip::kAlways},
    {.what = "no rank gets the values that others have updated", .gather = WrongStep::Gather::kNever},
    {.what = "values are gathered before they are updated", .gather = WrongStep::Gather::kOldValues},
};

/// Everything that can be seen of a training run.
struct ToyResult {
  std::vector<std::vector<double>> losses, norms;  ///< By rank, by step. A loss is that at the beginning of the step.
  std::vector<std::vector<float>> values;          ///< By rank: all buckets after each step.
};

/// Trains all ranks together.
class ToyReference {
 public:
  ToyReference(const ToyTraining& training, const WrongStep& wrong)
      : training_(training), wrong_(wrong), values_(ranks(), first_values(training)), moments_(values_.front()) {
    for (Block& block : moments_) block.assign(block.size(), 0.0F);
    result_ = {std::vector<std::vector<double>>(ranks()), std::vector<std::vector<double>>(ranks()),
               std::vector<std::vector<float>>(ranks())};
    for (int s = 0; s < training.steps; ++s) step(s);
  }
  [[nodiscard]] const ToyResult& result() const noexcept { return result_; }

 private:
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(training_.ranks); }
  [[nodiscard]] std::span<float> part(Block& block, std::size_t rank) const {
    const std::size_t count = block.size() / ranks();
    return std::span(block).subspan(rank * count, count);
  }

  void step(int number) {
    std::vector<Blocks> gradients = values_;  // by rank
    for (std::size_t r = 0; r < ranks(); ++r) {
      result_.losses[r].push_back(loss_of(static_cast<int>(r), number, values_[r]));
      for (std::size_t b = 0; b < values_[r].size(); ++b)
        fill_gradient(static_cast<int>(r), number, b, values_[r][b], gradients[r][b]);
    }
    if (wrong_.mean != WrongStep::Mean::kOwn) average(gradients);
    const std::vector<double> norms = norms_of(gradients);
    const std::vector<Blocks> before = values_;
    for (std::size_t r = 0; r < ranks(); ++r) {
      result_.norms[r].push_back(norms[r]);
      float factor = sharded::clip_factor(norms[r], training_.max_norm);
      if (wrong_.clip == WrongStep::Clip::kAlways) factor = static_cast<float>(training_.max_norm / (norms[r] + 1e-6));
      if (wrong_.clip == WrongStep::Clip::kNever) factor = 1;
      for (std::size_t b = 0; b < values_[r].size(); ++b) {
        for (float& gradient : part(gradients[r][b], r)) gradient *= factor;
        momentum_update(part(values_[r][b], r), part(gradients[r][b], r), part(moments_[b], r));
      }
    }
    if (wrong_.gather != WrongStep::Gather::kNever)
      gather(wrong_.gather == WrongStep::Gather::kRight ? std::vector<Blocks>(values_) : before);
    for (std::size_t r = 0; r < ranks(); ++r) {
      for (const Block& block : values_[r])
        result_.values[r].insert(result_.values[r].end(), block.begin(), block.end());
    }
  }

  // Added up in the order of the ranks, then divided, as the group does.
  void average(std::vector<Blocks>& gradients) const {
    const std::vector<Blocks> own = gradients;
    for (std::size_t b = 0; b < own[0].size(); ++b) {
      for (std::size_t i = 0; i < own[0][b].size(); ++i) {
        float sum = own[0][b][i];
        for (std::size_t r = 1; r < ranks(); ++r) sum += own[r][b][i];
        if (wrong_.mean != WrongStep::Mean::kSum) sum /= static_cast<float>(ranks());
        if (wrong_.mean == WrongStep::Mean::kTwice) sum /= static_cast<float>(ranks());
        const std::size_t owner = i / (own[0][b].size() / ranks());
        gradients[owner][b][i] = sum;  // the others' element stays what it was
      }
    }
  }

  [[nodiscard]] std::vector<double> norms_of(std::vector<Blocks>& gradients) const {
    std::vector<double> squares(ranks());
    for (std::size_t r = 0; r < ranks(); ++r) {
      float in_float = 0;
      for (Block& block : gradients[r]) {
        for (const float g : wrong_.norm == WrongStep::Norm::kWholeBuckets ? std::span(block) : part(block, r)) {
          squares[r] += static_cast<double>(g) * static_cast<double>(g);
          in_float += g * g;
        }
      }
      if (wrong_.norm == WrongStep::Norm::kInFloat) squares[r] = in_float;
      if (wrong_.norm == WrongStep::Norm::kSumOfNorms) squares[r] = std::sqrt(squares[r]);
    }
    double sum = 0;
    for (const double square : squares) sum += square;
    if (wrong_.norm == WrongStep::Norm::kMeanOfSquares) sum /= static_cast<double>(ranks());
    std::vector<double> norms;
    for (std::size_t r = 0; r < ranks(); ++r) {
      const double square = wrong_.norm == WrongStep::Norm::kLocal ? squares[r] : sum;
      const bool has_root = wrong_.norm != WrongStep::Norm::kNoRoot && wrong_.norm != WrongStep::Norm::kSumOfNorms;
      norms.push_back(has_root ? std::sqrt(square) : square);
    }
    return norms;
  }

  // Every rank gets each part from its owner's `source`.
  void gather(const std::vector<Blocks>& source) {
    for (std::size_t r = 0; r < ranks(); ++r) {
      for (std::size_t b = 0; b < values_[r].size(); ++b) {
        for (std::size_t i = 0; i < values_[r][b].size(); ++i)
          values_[r][b][i] = source[i / (values_[r][b].size() / ranks())][b][i];
      }
    }
  }

  ToyTraining training_;
  WrongStep wrong_;
  std::vector<Blocks> values_;  // by rank
  Blocks moments_;              // each part is its owner's
  ToyResult result_;
};

}  // namespace lockstep::exercise
